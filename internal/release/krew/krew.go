// Package krew makes the manifest by which krew installs kubectl cno.
package krew

import (
	"sigs.k8s.io/yaml"
)

// plugin is the manifest by which krew installs kubectl cno.
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       pluginSpec        `json:"spec"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

// Platform is one that the plugin is built for.
type Platform struct {
	OS, Arch string
	// URI is where its archive is, SHA256 the sum of the archive, and Program the name of the file in it.
	URI, SHA256, Program string
}

// Manifest returns the manifest of a version.
func Manifest(version, repository string, platforms []Platform) ([]byte, error) {
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "cno"}}
	p.Spec = pluginSpec{
		Version: version, Homepage: repository,
		ShortDescription: "Preview, apply and inspect a cluster's network",
		Description:      "The administrator's tool of the Cluster Network Operator: it installs and upgrades the\noperator, previews and applies changes of the network, and reports its problems.\n",
	}
	for _, platform := range platforms {
		entry := pluginPlatform{URI: platform.URI, SHA256: platform.SHA256, Bin: platform.Program}
		entry.Selector.MatchLabels = map[string]string{"os": platform.OS, "arch": platform.Arch}
		p.Spec.Platforms = append(p.Spec.Platforms, entry)
	}
	return yaml.Marshal(p)
}
