package networkmanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// Live implements hostapply.Backend.
func (b *Backend) Live(ctx context.Context) (livestate.State, error) {
	state, err := b.Kernel()
	if err != nil {
		return state, err
	}
	switch contents, err := b.OVS.Read(ctx); {
	case err == nil:
		contents.AddTo(&state)
	case !errors.Is(err, ovsbridge.ErrAbsent):
		return state, fmt.Errorf("read Open vSwitch's bridges: %w", err)
	}
	devices, err := b.Bus.Devices(ctx)
	if err != nil {
		return state, err
	}
	v := view{devices: devices}
	for i := range state.Links {
		link := &state.Links[i]
		d, ok := v.real(link.Name)
		if !ok || d.Active == nmdbus.None {
			continue
		}
		settings, err := b.Bus.Applied(ctx, d.Path)
		if nmdbus.Gone(err) {
			continue
		}
		if err != nil {
			return state, fmt.Errorf("read the settings of %s: %w", link.Name, err)
		}
		link.IPv4, link.IPv6 = methods(settings)
	}
	return state, b.resolvers(ctx, &state)
}

// methods reports how a device gets its addresses.
func methods(s nmdbus.Settings) (v4, v6 livestate.Method) {
	v4 = livestate.Method{
		DHCP: s.Text("ipv4", "method") == "auto", ClientID: clientID(s.Text("ipv4", "dhcp-client-id")),
		IgnoreDNS: s.Flag("ipv4", "ignore-auto-dns"),
	}
	method := s.Text("ipv6", "method")
	v6 = livestate.Method{
		DHCP: method == "auto" || method == "dhcp", Autoconf: method == "auto", DUID: s.Text("ipv6", "dhcp-duid"),
		IgnoreDNS: s.Flag("ipv6", "ignore-auto-dns"),
	}
	switch mode, ok := s.Integer("ipv6", "addr-gen-mode"); {
	case ok && mode == 0:
		v6.AddrGenMode = "eui64"
	case ok && mode == 1:
		v6.AddrGenMode = "stable-privacy"
	}
	return v4, v6
}

// clientID converts NetworkManager's name of a DHCP client ID type to NMState's.
func clientID(word string) string {
	switch word {
	case "mac":
		return "ll"
	case "duid":
		return "iaid+duid"
	}
	return word
}

// resolvers sets the DNS configuration of NetworkManager, if resolv.conf does not contain it.
func (b *Backend) resolvers(ctx context.Context, state *livestate.State) error {
	if len(state.DNS.Servers) > 0 {
		return nil
	}
	resolvers, err := b.Bus.Resolvers(ctx)
	if err != nil {
		return err
	}
	for _, r := range resolvers {
		state.DNS.Servers = append(state.DNS.Servers, r.Servers...)
		state.DNS.Search = append(state.DNS.Search, r.Domains...)
	}
	return nil
}
