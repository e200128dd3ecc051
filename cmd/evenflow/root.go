package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// errTold ends a command with exit code 1 when all has been said.
var errTold = errors.New("not well")

func newRoot(t *terminal) *cobra.Command {
	root := parent(&cobra.Command{
		Use:   "evenflow",
		Short: "Layer-4 load balancing by OpenFlow switches",
		Long: "evenflow makes Open vSwitch a layer-4 load balancer. `evenflow serve` is the controller; the other commands ask one\n" +
			"by REST, at http://127.0.0.1:8080 or as --server or EVENFLOW_SERVER says.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs, // cobra's own refusal names no help
	})
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	serve, _ := serveCommand(t)
	root.AddCommand(serve, applyCommand(t), getCommand(t), vipCommand(t), backendCommand(t), statusCommand(t), explainCommand(t), agentCommand(t),
		backupCommand(t), restoreCommand(t), openapiCommand(t), versionCommand(t))
	return root
}

// parent makes a word that stands before others, such as "get", refuse those it does not know; alone it shows its help.
func parent(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return fmt.Errorf("unknown command %q: see %s --help", args[0], cmd.CommandPath())
	}
	return cmd
}

// exactly wants n arguments; its error shows which.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("want %d argument(s), got %d: %s", n, len(args), cmd.UseLine())
		}
		return nil
	}
}

func versionCommand(t *terminal) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintf(t.out, "evenflow %s, %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}}
}
