package netlinkovs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/dhcp"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// record is an active lease.
type record struct {
	Asked lease      `json:"asked"`
	Given dhcp.Lease `json:"given"`
	// Document is the DNS configuration of the document; that of the server is appended.
	Document livestate.DNS `json:"document"`
}

func (b *Backend) recordsPath() string { return filepath.Join(b.Leases, "leases.json") }

func (b *Backend) records() (map[string]record, error) {
	out := map[string]record{}
	data, err := os.ReadFile(b.recordsPath())
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	return out, nil
}

func (b *Backend) writeRecords(all map[string]record) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(b.recordsPath(), data, 0o600); err != nil {
		return fmt.Errorf("write leases: %w", err)
	}
	return nil
}

// dropLeases removes the records of links that should have no lease, so that they are not renewed.
func (b *Backend) dropLeases(g goal) error {
	all, err := b.records()
	if err != nil || len(all) == 0 {
		return err
	}
	for _, l := range g.links {
		if l.v4.owned && l.v4.lease == nil {
			delete(all, l.name)
		}
	}
	return b.writeRecords(all)
}

// lease acquires or renews the lease of a link, and applies it. It keeps a lease with more than half of its time left.
func (b *Backend) lease(ctx context.Context, link string, asked lease, dns livestate.DNS) error {
	all, err := b.records()
	if err != nil {
		return err
	}
	request := dhcp.Request{Interface: link, ClientID: asked.ClientID, Hostname: asked.Hostname}
	if had, ok := all[link]; ok && had.Asked == asked && b.Now().Before(had.Given.Since.Add(had.Given.Renew)) {
		had.Document = dns
		all[link] = had
		return errors.Join(b.use(link, all), b.writeRecords(all))
	} else if ok {
		request.Before = &had.Given
	}
	given, err := dhcp.Get(ctx, request, b.Now)
	if err != nil {
		return err
	}
	b.Log.Info("lease", "interface", link, "address", given.Prefix, "valid", given.Valid)
	all[link] = record{Asked: asked, Given: given, Document: dns}
	return errors.Join(b.use(link, all), b.writeRecords(all))
}

// use applies a lease to its link: address, routes and DNS. It removes earlier leased addresses of the link.
func (b *Backend) use(link string, all map[string]record) error {
	r := all[link]
	live, err := b.Live(context.Background())
	if err != nil {
		return err
	}
	left := int(min(math.MaxUint32-1, r.Given.Since.Add(r.Given.Valid).Sub(b.Now()).Seconds()))
	address := livestate.Address{Prefix: r.Given.Prefix, Dynamic: true, Valid: left, Preferred: left}
	var steps []step
	if existing, ok := live.Link(link); ok {
		for _, a := range existing.Addresses {
			if a.Dynamic && a.Prefix.Addr().Is4() && a.Prefix != address.Prefix {
				steps = append(steps, step{action: removeAddress, link: link, address: a})
			}
		}
	}
	steps = append(steps, step{action: addAddress, link: link, address: address})
	for _, route := range leasedRoutes(link, r) {
		steps = append(steps, step{action: addRoute, route: route})
	}
	dns := r.Document
	for _, name := range sortedKeys(all) {
		if !all[name].Asked.IgnoreDNS {
			dns = withLease(dns, all[name].Given)
		}
	}
	if len(dns.Servers) > 0 && !sameDNS(dns, live.DNS) {
		steps = append(steps, step{action: setDNS, dns: dns})
	}
	return b.execute(context.Background(), steps)
}

func leasedRoutes(link string, r record) []livestate.Route {
	given := r.Given.Routes
	if len(given) == 0 && len(r.Given.Routers) > 0 {
		given = []dhcp.Route{{Destination: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Via: r.Given.Routers[0]}}
	}
	var out []livestate.Route
	for _, g := range given {
		gateway := g.Destination.Bits() == 0
		if gateway && r.Asked.NoGateway || !gateway && r.Asked.NoRoutes {
			continue
		}
		route := livestate.Route{
			Destination: g.Destination, Interface: link, Metric: r.Asked.Metric, Table: livestate.MainTable, Source: r.Given.Prefix.Addr(), Protocol: "dhcp",
		}
		if !g.Via.IsUnspecified() {
			route.Via = g.Via
		}
		if r.Asked.Table != 0 {
			route.Table = r.Asked.Table
		}
		out = append(out, route)
	}
	slices.SortStableFunc(out, func(a, b livestate.Route) int { return b.Destination.Bits() - a.Destination.Bits() })
	return out
}

// withLease appends the DNS configuration of a lease to that of the document.
func withLease(existing livestate.DNS, given dhcp.Lease) livestate.DNS {
	out := livestate.DNS{Servers: slices.Clone(existing.Servers), Search: slices.Clone(existing.Search), Options: existing.Options}
	for _, server := range given.DNS {
		if !slices.Contains(out.Servers, server.String()) {
			out.Servers = append(out.Servers, server.String())
		}
	}
	for _, domain := range given.Search {
		if !slices.Contains(out.Search, domain) {
			out.Search = append(out.Search, domain)
		}
	}
	return out
}

// Keep renews leases until the context ends. It reads the records repeatedly, so that it ignores leases that another process has dropped. If a renewal fails,
// it requests a new lease; without an answer, the kernel removes the address when the lease expires.
func (b *Backend) Keep(ctx context.Context, pause time.Duration, wait func(context.Context, time.Duration) error) error {
	for {
		all, err := b.records()
		if err != nil {
			return err
		}
		for _, link := range sortedKeys(all) {
			r := all[link]
			if b.Now().Before(r.Given.Since.Add(r.Given.Renew)) {
				continue
			}
			if err := b.lease(ctx, link, r.Asked, r.Document); err != nil {
				b.Log.Error("a lease is not renewed", "interface", link, "address", r.Given.Prefix, "err", err)
			}
		}
		if err := wait(ctx, pause); err != nil {
			return nil
		}
	}
}
