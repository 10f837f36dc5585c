package attach

import (
	"fmt"
	"io/fs"

	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// Sandbox is a sandbox with further networks. It exists from before the first plugin runs until all attachments are removed.
type Sandbox struct {
	Pod wire.Pod
	ID  string
	// NetNS is the path of the network namespace, NetNSID its identity.
	NetNS, NetNSID string
	// Networks are the further networks, with the fields Name and Interface.
	Networks []wire.Network
}

// Lives reports whether the sandbox's network namespace still exists at its path.
func (s Sandbox) Lives() bool {
	id, err := nsid.Of(nsid.BelowRun(s.NetNS))
	return err == nil && (id == s.NetNSID || s.NetNSID == "")
}

// ReadSandboxes returns the sandboxes that have a record in the shim's directory. It skips records that cannot be read; the shim handles them.
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
