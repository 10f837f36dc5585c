// Package cniconf writes the CNI configuration of container runtimes.
package cniconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/cniplugins"
	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
)

// List is a configuration list of CNI.
type List struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	// Plugins are the configurations of the plugins in the order in which they are called.
	Plugins []any `json:"plugins"`
	// MultiNetwork is true if pods may have further networks. Encode then wraps the list in the configuration of multus-shim.
	MultiNetwork bool `json:"-"`
}

// Programs returns the binaries that the file needs in addition to the plugins.
func (l List) Programs() []string {
	if l.MultiNetwork {
		return []string{delegate.Shim}
	}
	return nil
}

// PortMap is the configuration of the plugin portmap, which implements host ports of pods.
type PortMap struct {
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
}

// NewPortMap returns the configuration of portmap.
func NewPortMap() PortMap {
	return PortMap{Type: "portmap", Capabilities: map[string]bool{"portMappings": true}}
}

// Encode returns the content of the file.
func (l List) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode CNI configuration: %w", err)
	}
	if l.MultiNetwork {
		return delegate.Wrap(data)
	}
	return append(data, '\n'), nil
}

// Extensions are the extensions of the files that runtimes read.
var Extensions = []string{".conf", ".conflist", ".json"}

// File is the file of a network in the directory of CNI configurations. Runtimes use the first file by name.
type File struct{ Dir, Name string }

// Write writes the file if its content differs. It fails while binaries that the list needs are missing in the directory binDir, because the runtime
// reports the node as ready when the file exists. If binDir is empty, it does not check binaries.
func (f File) Write(list []byte, binDir string, programs ...string) error {
	if binDir != "" {
		if missing := cniplugins.Missing(binDir, programs...); len(missing) > 0 {
			return fmt.Errorf("the CNI configuration waits for plugins that are not in %s: %s", binDir, strings.Join(missing, ", "))
		}
	}
	name := filepath.Join(f.Dir, f.Name)
	if _, err := durable.WriteIfChanged(name, list, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Remove removes the file. A missing file is no error.
func (f File) Remove() error {
	if err := os.Remove(filepath.Join(f.Dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove CNI configuration: %w", err)
	}
	return nil
}

// Conflicting returns the files that runtimes prefer to this one, sorted. It returns none if the directory does not exist.
func (f File) Conflicting() ([]string, error) {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read directory of CNI configurations: %w", err)
	}
	var out []string
	for _, e := range entries {
		if slices.Contains(Extensions, filepath.Ext(e.Name())) && e.Name() < f.Name {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}
