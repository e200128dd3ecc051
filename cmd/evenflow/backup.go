package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/evenflow/evenflow/store"
)

func backupCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "backup FILE", Short: "Write a backup of the controller's store", Args: exactly(1),
		Long: "backup asks a running controller for all that it keeps: VIPs, ids given out, the topology, keys. With --data it reads the\n" +
			"store of a controller that is stopped. FILE is replaced when the backup is whole, and readable by its owner alone: it\n" +
			"holds keys.",
		Example: "  evenflow backup evenflow.backup\n  evenflow backup --data /var/lib/evenflow evenflow.backup"}
	con := newConnection(t, cmd)
	data := cmd.Flags().String("data", "", "directory of the store of a controller that is stopped")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		read := func(w io.Writer) error { return store.Backup(*data, w) }
		if *data == "" {
			c, err := con.open()
			if err != nil {
				return err
			}
			read = func(w io.Writer) error { return c.backup(cmd.Context(), w) }
		}
		contents, err := writeBackup(args[0], read)
		if errors.Is(err, store.ErrLocked) {
			err = fmt.Errorf("%w: leave out --data to ask it for the backup", err)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.out, "%s holds %s\n", args[0], describe(contents))
		return err
	}
	return cmd
}

func restoreCommand(t *terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "restore FILE", Short: "Make a backup the store of a controller that is stopped", Args: exactly(1),
		Long: "restore checks a backup and makes it the store in a directory. Nothing is changed if the backup is damaged, if a\n" +
			"controller uses the store, or if there is a store already and not --force.\n\n" +
			"The VIPs come back under their ids. Connections that were made since the backup stay if their VIP and backend are in it.",
		Example: "  evenflow restore evenflow.backup --data /var/lib/evenflow"}
	data := cmd.Flags().String("data", "", "directory of the store, created if absent")
	force := cmd.Flags().Bool("force", false, "replace the store that is there")
	cmd.MarkFlagRequired("data") //nolint:errcheck // there is such a flag
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		contents, err := store.Restore(*data, f, *force)
		if errors.Is(err, store.ErrStore) {
			err = fmt.Errorf("%w: want --force to replace it", err)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.out, "%s restored: %s\n", *data, describe(contents))
		return err
	}
	return cmd
}

func describe(c store.Contents) string {
	if c.VIPs == 1 {
		return fmt.Sprintf("1 VIP, schema %d", c.Schema)
	}
	return fmt.Sprintf("%d VIPs, schema %d", c.VIPs, c.Schema)
}

// writeBackup writes what read gives to a file, which it replaces only by a backup that is whole.
func writeBackup(path string, read func(io.Writer) error) (c store.Contents, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name()) //nolint:errcheck // there is another error to tell of
		}
	}()
	defer f.Close() //nolint:errcheck // it is synced
	if err := read(f); err != nil {
		return c, err
	}
	if err := f.Sync(); err != nil {
		return c, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return c, err
	}
	if c, err = store.Check(f); err != nil {
		return c, fmt.Errorf("backup: %w", err)
	}
	return c, os.Rename(f.Name(), path)
}

// backup reads a backup from the server.
func (c *client) backup(ctx context.Context, w io.Writer) error {
	res, err := c.send(ctx, http.MethodGet, api+"/backup", "", "application/gzip", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was only read
	if res.StatusCode != http.StatusOK {
		b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err != nil {
			return fmt.Errorf("answer of %s: %w", c.base, err)
		}
		return readProblem(res, b)
	}
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("answer of %s: %w", c.base, err)
	}
	return nil
}
