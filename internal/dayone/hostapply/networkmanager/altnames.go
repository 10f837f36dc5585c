package networkmanager

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// setAltNames adds and removes alternative names of links, for which NetworkManager has no setting. They are lost at a reboot, and the run at boot sets them
// again.
func (b *Backend) setAltNames(wanted []livestate.AltNames) error {
	if len(wanted) == 0 {
		return nil
	}
	state, err := b.Kernel()
	if err != nil {
		return err
	}
	remove, add := livestate.Missing(wanted, state)
	for _, l := range append(remove, add...) {
		link, err := b.Netlink.LinkByName(l.Link)
		if err != nil {
			return fmt.Errorf("set the alternative names of %s: %w", l.Link, err)
		}
		for _, name := range l.Remove {
			b.Log.Debug("remove alternative name", "link", l.Link, "name", name)
			if err := b.Netlink.LinkDelAltName(link, name); err != nil {
				return fmt.Errorf("remove the alternative name %s of %s: %w", name, l.Link, err)
			}
		}
		for _, name := range l.Add {
			b.Log.Debug("add alternative name", "link", l.Link, "name", name)
			if err := b.Netlink.LinkAddAltName(link, name); err != nil {
				return fmt.Errorf("add the alternative name %s to %s: %w", name, l.Link, err)
			}
		}
	}
	return nil
}
