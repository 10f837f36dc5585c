package networkmanager

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// snapshot is the data of Restore. It has keyfiles, which may contain secrets.
type snapshot struct {
	// Checkpoint is NetworkManager's checkpoint, which no longer exists after a restart of NetworkManager or its timeout.
	Checkpoint nmdbus.Path `json:"checkpoint"`
	// Etc and Run are all keyfiles by name.
	Etc map[string][]byte `json:"etc,omitempty"`
	Run map[string][]byte `json:"run,omitempty"`
	// Devices are the devices with their active profiles, in the order of NetworkManager's active connections.
	Devices []deviceThen `json:"devices,omitempty"`
	// Externals are devices without a profile.
	Externals []external `json:"externals,omitempty"`
	// Named are the links with alternative names, which NetworkManager does not support. Other fields are not set.
	Named []livestate.Link `json:"named,omitempty"`
	// OVS is nil if the document does not use Open vSwitch.
	OVS *bridgesThen `json:"ovs,omitempty"`
}

// deviceThen is a device at the time of a snapshot.
type deviceThen struct {
	Interface string `json:"interface"`
	// UUID is the UUID of the active profile; empty if there was none, or only a generated one.
	UUID string `json:"uuid,omitempty"`
}

// Snapshot implements hostapply.Backend. It creates a checkpoint.
func (b *Backend) Snapshot(ctx context.Context, change hostapply.Change) (hostapply.Snapshot, error) {
	var s snapshot
	var err error
	if s.Etc, err = readDirectory(b.Etc); err != nil {
		return nil, fmt.Errorf("read profiles: %w", err)
	}
	if s.Run, err = readDirectory(b.Run); err != nil {
		return nil, fmt.Errorf("read profiles: %w", err)
	}
	view, err := b.readView(ctx)
	if err != nil {
		return nil, err
	}
	s.Devices = view.devicesThen()
	state, err := b.Kernel()
	if err != nil {
		return nil, err
	}
	s.Externals = externals(s.Devices, state)
	for _, l := range state.Links {
		if len(l.AltNames) > 0 {
			s.Named = append(s.Named, livestate.Link{Name: l.Name, AltNames: l.AltNames})
		}
	}
	if s.OVS, err = b.bridgesThen(ctx, change.Document); err != nil {
		return nil, err
	}
	// Last, since its timeout starts now.
	if s.Checkpoint, err = b.Bus.Checkpoint(ctx, change.Deadline.Sub(b.Now())); err != nil {
		return nil, err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the snapshot: %w", err)
	}
	return data, nil
}

func readSnapshot(data hostapply.Snapshot) (snapshot, error) {
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read the snapshot: %w", err)
	}
	return s, nil
}

// inMemory splits the keyfiles in memory into those to write at once, and active ones of devices that Open vSwitch creates (see late). It omits files that are
// unchanged.
func (s snapshot) inMemory(existing map[string][]byte) (early map[string][]byte, late []profile) {
	early = maps.Clone(s.Run)
	for _, name := range slices.Sorted(maps.Keys(s.Run)) {
		k := parseKeyfile(string(s.Run[name]))
		p := newProfile(name, string(s.Run[name]), k)
		active := slices.ContainsFunc(s.Devices, func(d deviceThen) bool { return d.UUID == p.uuid })
		if p.kind == "tun" && active && !p.active && !bytes.Equal(existing[name], s.Run[name]) {
			delete(early, name)
			late = append(late, p)
		}
	}
	return early, late
}
