package imports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/kernelstate"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// describe returns the document of the host that this runs on.
func (o *options) describe(ctx context.Context) ([]byte, error) {
	kernel, err := netlink.NewHandle()
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	defer kernel.Close()
	state, err := kernelstate.Reader{Netlink: kernel, ResolvConf: o.resolvConf}.Read()
	if err != nil {
		return nil, fmt.Errorf("read the network of this host: %w", err)
	}
	// Most hosts have no Open vSwitch.
	if _, err := os.Stat(o.ovsdb); err == nil {
		contents, err := ovsbridge.Database{Socket: o.ovsdb}.Read(ctx)
		if err != nil {
			return nil, fmt.Errorf("read bridges of Open vSwitch: %w", err)
		}
		contents.AddTo(&state)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for Open vSwitch: %w", err)
	}
	content, err := placement.FromState(state).YAML()
	if err != nil {
		return nil, fmt.Errorf("write document: %w", err)
	}
	return content, nil
}
