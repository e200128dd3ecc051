package main

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/flows"
)

func getCommand(t *terminal) *cobra.Command {
	get := parent(&cobra.Command{Use: "get", Short: "Show VIPs, switches, hosts, links, agents, connections, imbalance, events"})
	g := &getter{t, newConnection(t, get), newOutput(get)}
	get.AddCommand(
		g.command("vips", "", "All VIPs", "/vips", list(vipRows)),
		g.command("vip", "NAME", "A VIP with its backends", "/vips/%", t.vipText),
		g.command("connections", "VIP", "The live connections of a VIP", "/vips/%/connections", list(t.connectionRows)),
		g.command("switches", "", "All switches", "/switches", list(t.switchRows)),
		g.command("ports", dpidArg, "The ports of a switch", "/switches/%/ports", list(portRows)),
		g.command("flows", dpidArg, "The rules that a switch holds now, in the syntax of ovs-ofctl", "/switches/%/flows", flowLines),
		g.command("hosts", "", "Hosts, as heard by ARP and neighbour discovery", "/hosts", list(hostRows)),
		g.command("links", "", "Links between switches", "/links", list(linkRows)),
		g.command("agents", "", "The agents of backends' hosts", "/agents", list(agentRows)),
		g.imbalance(),
		g.events(),
	)
	return get
}

type getter struct {
	t   *terminal
	con *connection
	out *output
}

// command shows a path; a % in it is the argument.
func (g *getter) command(name, arg, short, path string, asTable func([]byte) (string, error)) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs}
	if arg != "" {
		cmd.Use += " " + arg
		cmd.Args = exactly(1)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := g.out.check(); err != nil {
			return err
		}
		c, err := g.con.open()
		if err != nil {
			return err
		}
		if arg == dpidArg {
			args[0] = wholeDPID(args[0])
		}
		return g.out.show(cmd.Context(), g.t, c, fill(path, args...), asTable)
	}
	return cmd
}

const dpidArg = "DPID"

// wholeDPID is a dpid's 16 digits, of a short form such as 1 or 0x1a; what is none stays, for the server to refuse.
func wholeDPID(text string) string {
	if d, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64); err == nil {
		return flows.DPID(d).String()
	}
	return text
}

// fill puts arguments in the places of % in a path.
func fill(path string, args ...string) string {
	var b []byte
	for i := range len(path) {
		if path[i] != '%' {
			b = append(b, path[i])
			continue
		}
		b = append(b, url.PathEscape(args[0])...)
		args = args[1:]
	}
	return string(b)
}
