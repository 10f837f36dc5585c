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

// snapshot is what Restore needs. It holds keyfiles, and so perhaps secrets.
type snapshot struct {
	// Checkpoint is NetworkManager's; it is gone once NetworkManager restarted or its time was up.
	Checkpoint nmdbus.Path `json:"checkpoint"`
	// Etc and Run are all keyfiles by name.
	Etc map[string][]byte `json:"etc,omitempty"`
	Run map[string][]byte `json:"run,omitempty"`
	// Devices is what each device ran with, in the order of NetworkManager's list of active connections.
	Devices []deviceThen `json:"devices,omitempty"`
	// Externals are devices that NetworkManager has no profile for.
	Externals []external `json:"externals,omitempty"`
	// Named are the links that had alternative names, with nothing else: NetworkManager has none.
	Named []livestate.Link `json:"named,omitempty"`
	// OVS is nil if the document has nothing of Open vSwitch.
	OVS *bridgesThen `json:"ovs,omitempty"`
}

// deviceThen is a device at the time of a snapshot.
type deviceThen struct {
	Interface string `json:"interface"`
	// UUID is the profile that was active; empty if none was, or only one that NetworkManager had made up.
	UUID string `json:"uuid,omitempty"`
}

// Snapshot implements hostapply.Backend. It arms a checkpoint.
func (b *Backend) Snapshot(ctx context.Context, change hostapply.Change) (hostapply.Snapshot, error) {
	var s snapshot
	var err error
	if s.Etc, err = readDirectory(b.Etc); err != nil {
		return nil, fmt.Errorf("read profiles: %w", err)
	}
	if s.Run, err = readDirectory(b.Run); err != nil {
		return nil, fmt.Errorf("read profiles: %w", err)
	}
	view, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	s.Devices = view.then()
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
	// Last, for its time runs from now on.
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

// inMemory parts the keyfiles that were in memory into those to be written at once and those of devices that Open vSwitch makes, which
// were active: see late. What is in its place already stays.
func (s snapshot) inMemory(have map[string][]byte) (early map[string][]byte, late []profile) {
	early = maps.Clone(s.Run)
	for _, name := range slices.Sorted(maps.Keys(s.Run)) {
		k := parseKeyfile(string(s.Run[name]))
		p := newProfile(name, string(s.Run[name]), k)
		active := slices.ContainsFunc(s.Devices, func(d deviceThen) bool { return d.UUID == p.uuid })
		if p.kind == "tun" && active && !p.active && !bytes.Equal(have[name], s.Run[name]) {
			delete(early, name)
			late = append(late, p)
		}
	}
	return early, late
}
