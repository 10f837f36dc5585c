package dhcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cluster-network-operator/cno/internal/cniserver"
)

// network is a DHCP server, the link to it and the interfaces of pods, in memory.
type network struct {
	t testing.TB

	mu sync.Mutex
	// valid is how long leases are, in seconds.
	valid uint32
	// next is the last byte of the address that a new client gets.
	next   byte
	leases map[string]netip.Addr // by client
	// away: no request is answered. refuse: requests are answered with a DHCPNAK. reserved are addresses that are not offered.
	away, refuse bool
	// deaf is a request that is not answered, refuseOffers how many requests for an offered address are refused.
	deaf         string
	refuseOffers int
	reserved     []netip.Addr
	more         []dhcpv4.Modifier
	// asked are the messages that arrived, released the addresses that were given back.
	asked    []string
	released []netip.Addr
	// gone: the interface of pods no longer exists. down: addresses are not removed.
	gone bool
	// has are the addresses of the interface net1.
	has    map[netip.Prefix]bool
	routes []LinkRoute
}

func newNetwork(t testing.TB) *network {
	return &network{t: t, valid: 3600, next: 10, leases: map[string]netip.Addr{}, has: map[netip.Prefix]bool{}}
}

// set changes the network.
func (n *network) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// see reads it.
func see[T any](n *network, read func() T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return read()
}

// arrive waits for a server that answers.
func (n *network) arrive(ctx context.Context, what string) error {
	n.mu.Lock()
	n.asked = append(n.asked, what)
	away, gone := n.away || n.deaf == what, n.gone
	n.mu.Unlock()
	if gone {
		return ErrGone
	}
	if away {
		<-ctx.Done()
		return fmt.Errorf("no DHCPACK: %w", ctx.Err())
	}
	return nil
}

func (n *network) acknowledge(a netip.Addr) *dhcpv4.DHCPv4 {
	return ack(n.t, a.String(), append([]dhcpv4.Modifier{dhcpv4.WithLeaseTime(n.valid)}, n.more...)...)
}

func (n *network) Acquire(ctx context.Context, _ Port, c Config, want netip.Addr) (*dhcpv4.DHCPv4, error) {
	if err := n.arrive(ctx, "discover"); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.leases[string(c.ClientID)]
	if !ok || slices.Contains(n.reserved, a) {
		a = netip.AddrFrom4([4]byte{192, 0, 2, n.next})
		n.next++
	}
	server := netip.AddrFrom4([4]byte{192, 0, 2, 1})
	if n.refuseOffers > 0 {
		n.refuseOffers--
		return nil, &RefusedError{Server: server, Message: "address in use"}
	}
	if want.IsValid() && want != a {
		return nil, &OtherError{Server: server, Offered: a}
	}
	n.leases[string(c.ClientID)] = a
	return n.acknowledge(a), nil
}

func (n *network) extend(ctx context.Context, what string, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	if err := n.arrive(ctx, what); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse || n.leases[string(c.ClientID)] != l.Prefix.Addr() {
		return nil, &RefusedError{Server: l.Server, Message: "address not available"}
	}
	return n.acknowledge(l.Prefix.Addr()), nil
}

func (n *network) Renew(ctx context.Context, _ Port, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	return n.extend(ctx, "renew", c, l)
}

func (n *network) Rebind(ctx context.Context, _ Port, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	return n.extend(ctx, "rebind", c, l)
}

func (n *network) Release(_ context.Context, _ Port, c Config, l Lease) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return ErrGone
	}
	n.released = append(n.released, l.Prefix.Addr())
	delete(n.leases, string(c.ClientID))
	return nil
}

func (n *network) Up(Port) (net.HardwareAddr, error) {
	if see(n, func() bool { return n.gone }) {
		return nil, ErrGone
	}
	return net.HardwareAddr{2, 0, 0, 0, 0, 1}, nil
}

func (n *network) Routes(Port) ([]LinkRoute, error) {
	return see(n, func() []LinkRoute { return slices.Clone(n.routes) }), nil
}

func (n *network) Withdraw(_ Port, a netip.Prefix) error {
	n.set(func() { delete(n.has, a); n.routes = nil })
	return nil
}

func (n *network) Restore(_ Port, a netip.Prefix, routes []LinkRoute) error {
	n.set(func() { n.has[a] = true; n.routes = routes })
	return nil
}

// process is one process of the agent on a network.
type process struct {
	*Handler
	n      *network
	stop   func()
	mu     sync.Mutex
	events []Event
}

// start starts a process with the leases of a directory.
func (n *network) start(dir string) *process {
	n.t.Helper()
	p := &process{n: n}
	p.Handler = &Handler{Client: n, Links: n, Dir: dir, Log: slog.New(slog.NewTextHandler(n.t.Output(), nil)), Event: func(e Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, e)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	if err := p.Start(ctx); err != nil {
		n.t.Fatal(err)
	}
	p.stop = func() { cancel(); p.Wait() }
	return p
}

// add does what the shim and the plugin that calls it do: an ADD, and the address on the interface.
func (p *process) add() netip.Prefix {
	p.n.t.Helper()
	result, err := p.Add(context.Background(), call())
	if err != nil {
		p.n.t.Fatal(err)
	}
	ones, _ := result.IPs[0].Address.Mask.Size()
	addr, _ := netip.AddrFromSlice(result.IPs[0].Address.IP)
	prefix := netip.PrefixFrom(addr, ones)
	p.n.set(func() {
		p.n.has[prefix] = true
		p.n.routes = []LinkRoute{{Route: Route{Destination: netip.MustParsePrefix("198.51.100.0/24"), Via: netip.MustParseAddr("192.0.2.254")}, Metric: 7}}
	})
	return prefix
}

// seen returns the reasons of the events so far.
func (p *process) seen() (reasons []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}

func (p *process) last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.events) == 0 {
		return ""
	}
	return p.events[len(p.events)-1].Message
}

func call() cniserver.Call {
	return cniserver.Call{
		Plugin: "dhcp", Network: "lan", ContainerID: "c1", NetNS: "/run/netns/none", IfName: "net1",
		Args: map[string]string{"K8S_POD_NAMESPACE": "default", "K8S_POD_NAME": "web-0", "K8S_POD_UID": "u"}, Config: json.RawMessage(`{"ipam":{"type":"dhcp"}}`),
	}
}

// hours advances the time.
func hours(h float64) { time.Sleep(time.Duration(h * float64(time.Hour))) }
