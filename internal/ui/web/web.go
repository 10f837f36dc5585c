// Package web embeds the bundle of the web interface of cno ui. Its sources are in ui/; build.mjs there writes dist, which is committed, so
// that the binary is built without Node.js.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

// dist is the output of build.mjs: index.html, and its assets.
//
//go:embed dist
var dist embed.FS

// Files returns the files of the bundle.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the directory is embedded
	}
	return files
}

// Paths returns the patterns of http.ServeMux of all pages: all have the same file, which shows the page of its address.
func Paths() []string {
	return []string{"/{$}", "/nodes", "/nodes/{name}", "/paths", "/change", "/history", "/hosts", "/pods"}
}

// Assets returns the handler of the assets.
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

// Page returns the handler of the page.
func Page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, Files(), "index.html") })
}
