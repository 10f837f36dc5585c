package networkmanager

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// vmxnet3 is VMware's driver, which passes multicast to a bridge only with the allmulti flag. Profiles have no setting for it.
const vmxnet3 = "vmxnet3"

// enableAllMulticast sets the allmulti flag of cards below Open vSwitch bridges whose driver needs it.
func (b *Backend) enableAllMulticast(doc *nmstate.Document) error {
	live, err := b.Kernel()
	if err != nil {
		return err
	}
	for _, name := range multicastUplinks(doc, live) {
		link, err := b.Netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if err := b.Netlink.LinkSetAllmulticastOn(link); err != nil {
			return fmt.Errorf("enable allmulti of %s: %w", name, err)
		}
	}
	return nil
}

// multicastUplinks returns the cards below bridges whose driver needs the allmulti flag.
func multicastUplinks(doc *nmstate.Document, live livestate.State) (out []string) {
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
