package thishost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/kernelstate"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Read returns the network of the host.
func (s Source) Read(ctx context.Context) (livestate.State, error) {
	kernel, err := netlink.NewHandle()
	if err != nil {
		return livestate.State{}, fmt.Errorf("open netlink: %w", err)
	}
	defer kernel.Close()
	state, err := kernelstate.Reader{Netlink: kernel, ResolvConf: s.ResolvConf}.Read()
	if err != nil {
		return livestate.State{}, fmt.Errorf("read the network of this host: %w", err)
	}
	// Most hosts have no Open vSwitch.
	if _, err := os.Stat(s.OVSDB); err == nil {
		contents, err := ovsbridge.Database{Socket: s.OVSDB}.Read(ctx)
		if err != nil {
			return livestate.State{}, fmt.Errorf("read bridges of Open vSwitch: %w", err)
		}
		contents.AddTo(&state)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return livestate.State{}, fmt.Errorf("find Open vSwitch: %w", err)
	}
	return state, nil
}
