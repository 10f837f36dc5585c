// Package config embeds the manifests that install the operator, which are also bases for kustomize.
package config

import (
	"embed"
	"io/fs"
)

//go:embed admission/*.yaml crds/*.yaml default/*.yaml operator/*.yaml rbac/*.yaml
var files embed.FS

// Files returns the manifests of config/default and of the directories that it includes. The operator's own CRDs are in
// package api/crds.
func Files() fs.FS { return files }

//go:embed samples/*.yaml
var samples embed.FS

// Samples returns examples of the operator's kinds, by file name.
func Samples() (map[string][]byte, error) {
	names, err := fs.Glob(samples, "samples/*.yaml")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range names {
		if out[name], err = fs.ReadFile(samples, name); err != nil {
			return nil, err
		}
	}
	return out, nil
}
