package networkmanager

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// vmxnet3 is VMware's driver, which does not hand multicast to a bridge unless it is told to. No profile can say that.
const vmxnet3 = "vmxnet3"

// hearMulticast has the cards below a bridge of Open vSwitch take all multicast, where their driver needs it.
func (b *Backend) hearMulticast(doc *nmstate.Document) error {
	live, err := b.Kernel()
	if err != nil {
		return err
	}
	for _, name := range deafUplinks(doc, live) {
		link, err := b.Netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if err := b.Netlink.LinkSetAllmulticastOn(link); err != nil {
			return fmt.Errorf("let %s take all multicast: %w", name, err)
		}
	}
	return nil
}

// deafUplinks are the cards whose driver keeps multicast from the bridge they are ports of.
func deafUplinks(doc *nmstate.Document, live livestate.State) (out []string) {
	for i := range doc.Interfaces {
		bridge := &doc.Interfaces[i]
		if bridge.Kind() != nmstate.TypeOVSBridge || !bridge.Up() {
			continue
		}
		for _, name := range bridge.Members() {
			if slices.ContainsFunc(live.Links, func(l livestate.Link) bool { return l.Name == name && l.Driver == vmxnet3 }) {
				out = append(out, name)
			}
		}
	}
	return out
}
