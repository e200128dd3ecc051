// Package dashboard is the browser's side: a program in TypeScript, built by vite into dist and carried in the binary. `make
// build` builds it first; without that dist holds nothing but a placeholder, and the server says what to do instead.
package dashboard

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files are the files of the built dashboard: index.html and what it loads. Without index.html it was not built.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return files
}
