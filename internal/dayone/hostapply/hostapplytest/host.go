// Package hostapplytest is a fake host in memory, for tests of users of a hostapply.Backend. Applied changes are live, restored changes are undone, and a
// power failure loses uncommitted changes.
package hostapplytest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Host is a backend and a prober. The zero value has no interfaces.
type Host struct {
	State livestate.State
	// Boots is the state after a power failure; Commit sets it.
	Boots livestate.State
	// Silent has the targets that do not answer, by their text.
	Silent map[string]bool
	// Fail is called for each method call, with the method's name in lower case; its error is the error of the call, which has then done half of
	// its work. It may be nil.
	Fail func(call string) error
	// Calls are the methods that changed something, in order.
	Calls []string
}

var (
	_ hostapply.Backend = (*Host)(nil)
	_ hostapply.Prober  = (*Host)(nil)
)

func (h *Host) call(name string) error {
	h.Calls = append(h.Calls, name)
	if h.Fail == nil {
		return nil
	}
	return h.Fail(name)
}

// Live returns the state.
func (h *Host) Live(context.Context) (livestate.State, error) { return clone(h.State), nil }

// Snapshot is the state as JSON.
func (h *Host) Snapshot(context.Context, hostapply.Change) (hostapply.Snapshot, error) {
	if err := h.call("snapshot"); err != nil {
		return nil, err
	}
	return json.Marshal(h.State)
}

// Apply sets the addresses and MAC addresses of the document's interfaces, and adds its routes. If it fails, it has changed the interfaces.
func (h *Host) Apply(_ context.Context, change hostapply.Change) error {
	for n := range change.Document.Interfaces {
		h.iface(&change.Document.Interfaces[n])
	}
	if err := h.call("apply"); err != nil {
		return err
	}
	if change.Document.Routes != nil {
		for _, r := range change.Document.Routes.Config {
			h.route(r)
		}
	}
	return nil
}

func (h *Host) iface(i *nmstate.Interface) {
	link, exists := h.State.Link(i.Name)
	if !exists {
		h.State.Links = append(h.State.Links, livestate.Link{Name: i.Name, Kind: string(i.Kind())})
		link = &h.State.Links[len(h.State.Links)-1]
	}
	link.Up = i.Up()
	for _, alt := range i.AltNames {
		link.AltNames = slices.DeleteFunc(link.AltNames, func(name string) bool { return name == alt.Name })
		if !alt.Absent() {
			link.AltNames = append(link.AltNames, alt.Name)
		}
	}
	if i.MACAddress != "" {
		link.MAC = strings.ToLower(i.MACAddress)
	}
	if i.IPv4 != nil {
		link.Addresses = nil
		for _, a := range i.IPv4.Address {
			link.Addresses = append(link.Addresses, livestate.Address{Prefix: a.Prefix()})
		}
	}
}

func (h *Host) route(r nmstate.Route) {
	destination, err := livestate.Destination(r.Destination)
	if err != nil {
		return
	}
	route := livestate.Route{Destination: destination, Interface: r.NextHopInterface, Table: livestate.MainTable}
	_ = route.Via.UnmarshalText([]byte(r.NextHopAddress))
	if !slices.Contains(h.State.Routes, route) {
		h.State.Routes = append(h.State.Routes, route)
	}
}

// Commit makes the state persistent.
func (h *Host) Commit(context.Context, hostapply.Change, hostapply.Snapshot) error {
	if err := h.call("commit"); err != nil {
		return err
	}
	h.Boots = clone(h.State)
	return nil
}

// Restore restores the snapshot.
func (h *Host) Restore(_ context.Context, _ hostapply.Change, snapshot hostapply.Snapshot) error {
	if err := h.call("restore"); err != nil {
		return err
	}
	h.State = livestate.State{}
	return json.Unmarshal(snapshot, &h.State)
}

// PowerCut reboots the host.
func (h *Host) PowerCut() { h.State = clone(h.Boots) }

// Probe fails for silent targets.
func (h *Host) Probe(_ context.Context, target hostapply.Target) error {
	if h.Silent[target.String()] {
		return context.DeadlineExceeded
	}
	return nil
}

// clone returns a deep copy.
func clone(s livestate.State) livestate.State {
	var out livestate.State
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic("a state is always JSON: " + err.Error())
	}
	return out
}
