// Package web is the bundle of the pages of cno ui. Its sources are in ui/; build.mjs there writes dist, which is committed, so that the
// program is built without Node.js.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

// dist is what build.mjs writes: index.html, and below assets what it loads.
//
//go:embed dist
var dist embed.FS

// Files are the files of the bundle.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the directory is embedded
	}
	return files
}

// Paths are the patterns of http.ServeMux of all pages: each is answered with the same file, which shows the page that its address names.
func Paths() []string {
	return []string{"/{$}", "/nodes", "/nodes/{name}", "/paths", "/change", "/history", "/hosts", "/pods"}
}

// Assets serves what pages load.
func Assets() http.Handler {
	files := http.FileServerFS(Files())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r) // no lists of files
			return
		}
		files.ServeHTTP(w, r)
	})
}

// Page serves the page.
func Page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, Files(), "index.html") })
}
