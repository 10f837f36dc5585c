package northbound

import (
	"maps"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func parseID(key string) netpolicy.ID {
	namespace, name, _ := strings.Cut(key, "/")
	return netpolicy.ID{Namespace: namespace, Name: name}
}

func podPort(id netpolicy.ID) ovsdb.Ref {
	return ovsdb.Ref{Table: tablePort, Key: topology.PodPort(id.Namespace, id.Name)}
}

// hasPort reports whether a pod has a port.
func (s *State) hasPort(p *Pod) bool {
	return p != nil && len(p.Addresses) > 0 && !p.HostNetwork && !p.Ended && s.hasSwitch(p.Node)
}

// SetPod adds or replaces a pod.
func (s *State) SetPod(p Pod) {
	old := s.pods[p.ID]
	if old != nil && samePod(old, &p) {
		return
	}
	if old != nil && old.Node != p.Node {
		remove(s.podsOn, old.Node, p.ID)
		s.portChanged(old)
	}
	s.pods[p.ID] = &p
	add(s.podsOf, p.Namespace, p.ID)
	add(s.podsOn, p.Node, p.ID)
	s.podChanged(old, &p)
}

// DeletePod removes a pod.
func (s *State) DeletePod(id netpolicy.ID) {
	old := s.pods[id]
	if old == nil {
		return
	}
	delete(s.pods, id)
	remove(s.podsOf, id.Namespace, id)
	remove(s.podsOn, old.Node, id)
	s.podChanged(old, nil)
}

// podChanged marks the rows that depend on a pod; old or p is nil for a new or deleted pod.
func (s *State) podChanged(old, p *Pod) {
	either := p
	if p == nil {
		either = old
	}
	if had, has := s.hasPort(old), s.hasPort(p); had != has || has && (old == nil || !samePort(old, p)) {
		s.portChanged(either)
	}
	// Selections that keep the pod have its addresses, ports and named ports.
	s.reselect(either.ID, func(selected *selection) { selected.changed(s) })
}

// portChanged marks the rows that contain a pod's port.
func (s *State) portChanged(p *Pod) {
	s.touch(podUnit, p.ID.String())
	s.touch(nodeUnit, p.Node)
	s.touch(groupUnit, "")
	if s.multicast[p.Namespace] {
		s.touch(multicastUnit, p.Namespace)
	}
}

func samePort(a, b *Pod) bool {
	return a.UID == b.UID && a.Node == b.Node && a.Limits == b.Limits && slices.Equal(a.MAC, b.MAC) && slices.Equal(a.Addresses, b.Addresses)
}

func samePod(a, b *Pod) bool {
	return samePort(a, b) && a.HostNetwork == b.HostNetwork && a.Ended == b.Ended && maps.Equal(a.Labels, b.Labels) && slices.Equal(a.Ports, b.Ports)
}

// podRows returns the pod's port and its limits. ovn-controller binds the port only on the pod's node, and only to an interface of this pod, not of an earlier
// one with its name.
func (s *State) podRows(id netpolicy.ID) []ovsdb.Desired {
	p := s.pods[id]
	if !s.hasPort(p) {
		return nil
	}
	addresses := []string{p.MAC.String()}
	for _, a := range p.Addresses {
		addresses = append(addresses, a.String())
	}
	text := strings.Join(addresses, " ")
	options := ovsdb.Map{"requested-chassis": p.Node, "iface-id-ver": string(p.UID)}
	requestPortKey(options, p.Addresses...)
	return append(limitRows(p), port(topology.PodPort(id.Namespace, id.Name), map[string]any{
		"type": "", "addresses": ovsdb.Set{text}, "port_security": ovsdb.Set{text},
		"options": options,
	}))
}
