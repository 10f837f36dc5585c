package main

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

func (b *build) krew() ([]byte, error) {
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "cno"}}
	p.Spec = pluginSpec{
		Version: b.version, Homepage: repository,
		ShortDescription: "Preview, apply and inspect a cluster's network",
		Description:      "The administrator's tool of the Cluster Network Operator: it installs and upgrades the\noperator, previews and applies changes of the network, and reports its problems.\n",
	}
	for _, platform := range b.platforms() {
		entry := pluginPlatform{URI: b.url + "/" + b.archive(platform), SHA256: b.sums[b.archive(platform)], Bin: platform.program()}
		entry.Selector.MatchLabels = map[string]string{"os": platform.os, "arch": platform.arch}
		p.Spec.Platforms = append(p.Spec.Platforms, entry)
	}
	return yaml.Marshal(p)
}
