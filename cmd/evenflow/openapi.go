package main

import (
	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/web"
)

func openapiCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "openapi", Short: "Print the OpenAPI document of the API", Args: cobra.NoArgs}
	cmd.RunE = func(*cobra.Command, []string) error {
		doc, err := web.Document(version)
		if err == nil {
			_, err = t.out.Write(append(doc, '\n'))
		}
		return err
	}
	return cmd
}
