package attach

import (
	"fmt"
	"io/fs"

	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// Sandbox is a sandbox with further networks, from the moment before the first plugin runs until all of it is removed.
type Sandbox struct {
	Pod wire.Pod
	ID  string
	// NetNS is the path of the network namespace, and NetNSID what identifies it.
	NetNS, NetNSID string
	// Networks are the further networks. Of each, Name and Interface are set.
	Networks []wire.Network
}

// Lives reports whether the path is still that of the sandbox's network namespace.
func (s Sandbox) Lives() bool {
	id, err := nsid.Of(nsid.BelowRun(s.NetNS))
	return err == nil && (id == s.NetNSID || s.NetNSID == "")
}

// ReadSandboxes returns the sandboxes that have a record in the shim's directory. A record that cannot be read is left to the shim.
func ReadSandboxes(state string) ([]Sandbox, error) {
	shim := Shim{State: state}
	containers, err := shim.containers()
	if err != nil {
		return nil, err
	}
	var all []Sandbox
	for _, id := range containers {
		if s, err := ReadSandbox(state, id); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// ReadSandbox returns a sandbox by the ID of its container. The error of one without a record is fs.ErrNotExist.
func ReadSandbox(state, id string) (Sandbox, error) {
	r, err := Shim{State: state}.read(id)
	if err == nil && r == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Sandbox{}, fmt.Errorf("read the record of sandbox %s: %w", id, err)
	}
	s := Sandbox{Pod: podOf(r.Args), ID: r.ContainerID, NetNS: r.NetNS, NetNSID: r.NetNSID}
	for _, n := range r.Networks {
		if !n.Default {
			s.Networks = append(s.Networks, wire.Network{Name: n.Name, Interface: n.Interface})
		}
	}
	return s, nil
}
