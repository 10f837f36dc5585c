// Package charts holds what is written by hand of the Helm charts; package internal/release/chart makes them whole.
package charts

import (
	"embed"
	"io/fs"
)

//go:embed all:cluster-network-operator all:cluster-network
var files embed.FS

// Files returns the files, with a directory for each chart.
func Files() fs.FS { return files }
