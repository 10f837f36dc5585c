package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// Saved is the state on disk of an attached sandbox.
type Saved struct {
	Pod     wire.Pod
	Sandbox string
	// NetNS is the path of the network namespace.
	NetNS    string
	Networks []wire.Network
}

// cached is an entry of libcni's result cache.
type cached struct {
	ContainerID string          `json:"containerId"`
	IfName      string          `json:"ifName"`
	Network     string          `json:"networkName"`
	NetNS       string          `json:"netns"`
	Args        [][2]string     `json:"cniArgs"`
	Result      json.RawMessage `json:"result"`
}

// ReadSaved returns the sandboxes whose networks are attached, from the shim's directory. It skips files that are being written.
func ReadSaved(state string) ([]Saved, error) {
	dir := filepath.Join(state, "results")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the results of plugins: %w", err)
	}
	results := map[string][]cached{}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		var c cached
		if err != nil || json.Unmarshal(raw, &c) != nil || c.ContainerID == "" {
			continue
		}
		results[c.ContainerID] = append(results[c.ContainerID], c)
	}
	var all []Saved
	for container, found := range results {
		if s, ok := (Shim{State: state}).saved(container, found); ok {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Saved) int {
		return slices.Compare([]string{a.Pod.Namespace, a.Pod.Name, a.Sandbox}, []string{b.Pod.Namespace, b.Pod.Name, b.Sandbox})
	})
	return all, nil
}

// saved orders the results of a sandbox as in its record. A sandbox without a record has only its default network.
func (s Shim) saved(container string, found []cached) (Saved, bool) {
	first := found[0]
	out := Saved{Pod: podOf(first.Args), Sandbox: container, NetNS: first.NetNS}
	r, err := s.read(container)
	if err != nil || r != nil && !s.isComplete(*r) {
		return out, false
	}
	networks := []network{{Name: first.Network, Interface: first.IfName, Default: true}}
	if r != nil {
		networks = r.Networks
	}
	mtus := mtusOf(first.NetNS)
	for _, n := range networks {
		i := slices.IndexFunc(found, func(c cached) bool { return c.IfName == n.Interface })
		if i < 0 {
			return out, false
		}
		result := found[i].Result
		if n.Rerouted {
			if result, err = withRoutes(result, n.Routes); err != nil {
				return out, false
			}
		}
		w := wire.Network{Name: n.Name, Interface: n.Interface, Default: n.Default, Result: result, MTU: mtus[n.Interface]}
		if file, ok := n.Runtime[capabilityDeviceInfo].(string); ok {
			w.DeviceInfo, _ = readDeviceInfo(file) // the file may not exist in the daemon's container
		}
		out.Networks = append(out.Networks, w)
	}
	return out, true
}

// PodsWithFurtherNetworks returns namespace/name of the pods with a record of further networks, including pods whose ADD or DEL is incomplete. For a
// record that cannot be read, it returns the path of the file.
func PodsWithFurtherNetworks(state string) ([]string, error) {
	s := Shim{State: state}
	containers, err := s.containers()
	if err != nil {
		return nil, err
	}
	var pods []string
	for _, container := range containers {
		r, err := s.read(container)
		switch {
		case err != nil:
			pods = append(pods, s.file(container))
		case r != nil && len(r.Networks) > 1:
			pod := podOf(r.Args)
			pods = append(pods, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(pods)
	return slices.Compact(pods), nil
}

func podOf(args [][2]string) wire.Pod {
	values := map[string]string{}
	for _, pair := range args {
		values[pair[0]] = pair[1]
	}
	return wire.Pod{Namespace: values["K8S_POD_NAMESPACE"], Name: values["K8S_POD_NAME"], UID: values["K8S_POD_UID"]}
}
