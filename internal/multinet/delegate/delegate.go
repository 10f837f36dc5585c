// Package delegate is the form of a CNI configuration with which pods can have further networks: a list whose only plugin is the
// shim multus-shim, with the network's own list inside. For a pod that asks for nothing else, the shim runs that list. The shape is
// decided here alone; agents of networks write it, and the shim reads it. The package is pure.
package delegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

const (
	// Shim is the type of the plugin, and the name of its program.
	Shim = "multus-shim"
	// CapabilityAnnotations has container runtimes pass the annotations of the pod.
	CapabilityAnnotations = "io.kubernetes.cri.pod-annotations"
)

// Conf is the configuration of the shim as a runtime passes it.
type Conf struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	// Capabilities are those of the plugins in the list, and CapabilityAnnotations.
	Capabilities map[string]bool `json:"capabilities,omitempty"`
	// Delegate is the network's own list, byte for byte but for white space.
	Delegate json.RawMessage `json:"delegate"`
	// RuntimeConfig is what the runtime passes for a call, by capability.
	RuntimeConfig map[string]json.RawMessage `json:"runtimeConfig,omitempty"`
}

// list are the keys of a network's list, or of a configuration with one plugin, that matter to the wrapper.
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

// Wrap returns the configuration in which the shim has a network's own: a list, or a configuration with one plugin. It has the same
// network name and CNI version, so that pods that were attached without the shim are removed through it.
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
		CNIVersion   string `json:"cniVersion"`
		Name         string `json:"name"`
		DisableCheck bool   `json:"disableCheck,omitempty"`
		DisableGC    bool   `json:"disableGC,omitempty"`
		Plugins      []shim `json:"plugins"`
	}{l.CNIVersion, l.Name, l.DisableCheck, l.DisableGC, []shim{{plugin{Shim, capabilities}, own}}}, "", "  ")
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

// Own returns the network's own configuration inside of one that Wrap has made; ok is false for any other.
func Own(raw []byte) (own []byte, ok bool) {
	var l struct {
		Plugins []struct {
			Type     string          `json:"type"`
			Delegate json.RawMessage `json:"delegate"`
		} `json:"plugins"`
	}
	if json.Unmarshal(raw, &l) != nil || len(l.Plugins) != 1 || l.Plugins[0].Type != Shim {
		return nil, false
	}
	return l.Plugins[0].Delegate, true
}

// Wrapped reports whether a configuration starts the shim.
func Wrapped(raw []byte) bool {
	var l list
	return json.Unmarshal(raw, &l) == nil && (l.Type == Shim || slices.ContainsFunc(l.Plugins, func(p plugin) bool { return p.Type == Shim }))
}
