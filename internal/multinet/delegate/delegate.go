// Package delegate defines the CNI configuration with which pods can have further networks: a list whose only plugin is multus-shim, with the list of
// the pod network inside. For a pod without further networks, the shim runs that list. Agents of pod networks write the configuration, and the shim
// reads it. The package is pure.
package delegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

const (
	// Shim is the type of the plugin, and the name of its binary.
	Shim = "multus-shim"
	// CapabilityAnnotations is the capability for which container runtimes pass the annotations of the pod.
	CapabilityAnnotations = "io.kubernetes.cri.pod-annotations"
)

// Conf is the configuration of the shim as a runtime passes it.
type Conf struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	// Capabilities are those of the plugins in the list, and CapabilityAnnotations.
	Capabilities map[string]bool `json:"capabilities,omitempty"`
	// Delegate is the list of the pod network, unchanged except for white space.
	Delegate json.RawMessage `json:"delegate"`
	// RuntimeConfig has the values that the runtime passes, by capability.
	RuntimeConfig map[string]json.RawMessage `json:"runtimeConfig,omitempty"`
}

// list has the keys of a network's list, or of a configuration with one plugin, that Wrap uses.
type list struct {
	CNIVersion   string          `json:"cniVersion"`
	Name         string          `json:"name"`
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
	DisableCheck bool            `json:"disableCheck"`
	DisableGC    bool            `json:"disableGC"`
	Plugins      []plugin        `json:"plugins"`
}

type plugin struct {
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
}

// Wrap returns the shim's configuration around that of a network: a list, or a configuration with one plugin. It keeps the network name and CNI
// version, so that the shim can remove pods that were attached without it. It also offers the newest version, of which runtimes that know it make use:
// they call STATUS and GC even if the network's own plugins have neither.
func Wrap(own []byte) ([]byte, error) {
	if err := strictjson.Check(string(own)); err != nil {
		return nil, fmt.Errorf("wrap CNI configuration: %w", err)
	}
	var l list
	if err := json.Unmarshal(own, &l); err != nil {
		return nil, fmt.Errorf("wrap CNI configuration: %w", err)
	}
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("wrap CNI configuration: %w", err)
	}
	capabilities := map[string]bool{CapabilityAnnotations: true}
	for _, p := range append([]plugin{{l.Type, l.Capabilities}}, l.Plugins...) {
		for name, declared := range p.Capabilities {
			capabilities[name] = capabilities[name] || declared
		}
	}
	type shim struct {
		plugin
		Delegate json.RawMessage `json:"delegate"`
	}
	out, err := json.MarshalIndent(struct {
		CNIVersion   string   `json:"cniVersion"`
		CNIVersions  []string `json:"cniVersions"`
		Name         string   `json:"name"`
		DisableCheck bool     `json:"disableCheck,omitempty"`
		DisableGC    bool     `json:"disableGC,omitempty"`
		Plugins      []shim   `json:"plugins"`
	}{l.CNIVersion, []string{cniproto.NewestVersion}, l.Name, l.DisableCheck, l.DisableGC, []shim{{plugin{Shim, capabilities}, own}}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("wrap CNI configuration: %w", err)
	}
	return append(out, '\n'), nil
}

func (l list) check() error {
	var errs []error
	if l.Name == "" {
		errs = append(errs, errors.New("it has no name"))
	}
	if l.Type == "" && len(l.Plugins) == 0 {
		errs = append(errs, errors.New(`it has neither "type" nor "plugins"`))
	}
	if l.Type == Shim {
		errs = append(errs, fmt.Errorf("it has the type %s already", Shim))
	}
	for i, p := range l.Plugins {
		if p.Type == Shim {
			errs = append(errs, fmt.Errorf("plugins[%d] has the type %s already", i, Shim))
		}
	}
	return errors.Join(errs...)
}

// Wrapped reports whether a configuration has the shim as a plugin.
func Wrapped(raw []byte) bool {
	var l list
	return json.Unmarshal(raw, &l) == nil && (l.Type == Shim || slices.ContainsFunc(l.Plugins, func(p plugin) bool { return p.Type == Shim }))
}
