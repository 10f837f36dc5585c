package dhcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
)

// defaultAcquireTimeout is how long an ADD waits for a server by default; answerLimit is what remains of its deadline for the answer.
// refusedDelay is how long it waits before it asks again after a server refused what it had offered.
const (
	defaultAcquireTimeout = 30 * time.Second
	responseReserve       = 2 * time.Second
	refusedDelay          = time.Second
)

// Handler acquires, renews and releases leases. Start must be called before the other methods; all fields except Within must be set.
type Handler struct {
	Client Client
	Links  Links
	// Dir is the directory of leases, which persist across restarts.
	Dir string
	// Event reports an event for a pod. It must not block.
	Event func(Event)
	Log   *slog.Logger
	// Within is how long an ADD waits for a server; 30 seconds if it is 0.
	Within time.Duration

	store   store
	mu      sync.Mutex
	keepers map[string]*keeper
	// life is the context of the keepers.
	life context.Context
}

var _ cniserver.Handler = (*Handler)(nil)

// Start continues with the leases of earlier processes, until the context ends. It renews a lease after T1 at once; an expired lease is lost. Records
// that cannot be read are renamed and logged.
func (h *Handler) Start(ctx context.Context) error {
	h.store, h.keepers, h.life = store{filepath.Clean(h.Dir)}, map[string]*keeper{}, ctx
	if err := h.store.open(); err != nil {
		return err
	}
	records, err := h.store.all()
	if err != nil {
		h.Log.Error("some leases cannot be read: they are not renewed, and the pods that have them must be recreated", "error", err)
	}
	for _, r := range records {
		config, err := readCall(r.Call)
		if err != nil {
			// Another version may have accepted it. The lease can be renewed without its options.
			h.Log.Error("configuration of a lease is not valid; it is renewed without options", "container", r.Call.ContainerID, "interface", r.Call.IfName, "error", err)
			config = Config{ClientID: clientID(r.Call), Request: defaultRequest()}
		}
		h.start(r, config)
	}
	return nil
}

// Wait waits until all keepers have ended, after the context of Start has ended.
func (h *Handler) Wait() {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.keepers))
	h.mu.Unlock()
	for _, k := range all {
		<-k.done
	}
}

// count returns the number of leases, and how many of them are lost.
func (h *Handler) count() (all, lost int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.keepers {
		if _, ok := k.usable(); !ok {
			lost++
		}
	}
	return len(h.keepers), lost
}

// start starts the keeper of a lease.
func (h *Handler) start(r Record, config Config) {
	k := &keeper{
		Handler: h, config: config, done: make(chan struct{}),
		log: h.Log.With("container", r.Call.ContainerID, "interface", r.Call.IfName, "pod", r.Call.Pod().Namespace+"/"+r.Call.Pod().Name),
	}
	k.record.Store(&r)
	ctx, cancel := context.WithCancel(h.life)
	k.cancel = cancel
	h.mu.Lock()
	h.keepers[key(r.Call)] = k
	h.mu.Unlock()
	go k.run(ctx)
}

// stop stops the keeper of a lease, and returns it; nil if there is none.
func (h *Handler) stop(c cniserver.Call) *keeper {
	h.mu.Lock()
	k := h.keepers[key(c)]
	delete(h.keepers, key(c))
	h.mu.Unlock()
	if k != nil {
		k.cancel()
		<-k.done
	}
	return k
}

// readCall reads the configuration of an attachment.
func readCall(c cniserver.Call) (Config, error) {
	config, errs := ReadConfig(string(c.Config), c.Args)
	if len(errs) > 0 {
		return Config{}, cniproto.Errorf(cniproto.CodeInvalidConfig, "network %s: %v", c.Network, errs.ToAggregate())
	}
	if config.ClientID == nil {
		config.ClientID = clientID(c)
	}
	return config, nil
}

// Add implements cniserver.Handler: it acquires a lease, and writes it to disk before it returns.
func (h *Handler) Add(ctx context.Context, c cniserver.Call) (*current.Result, error) {
	config, err := readCall(c)
	if err != nil {
		return nil, err
	}
	port := Port{NetNS: c.NetNS, Name: c.IfName}
	if port.MAC, err = h.Links.Up(port); err != nil {
		if errors.Is(err, ErrGone) {
			return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "network %s: the interface %s does not exist in the pod; dhcp is the ipam of a plugin that creates it, for example macvlan", c.Network, c.IfName)
		}
		return nil, fmt.Errorf("set %s up: %w", c.IfName, err)
	}
	ack, err := h.acquire(ctx, port, config)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "network %s: no lease for %s: %v", c.Network, c.IfName, err)
	}
	lease, err := readLease(ack, time.Now())
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", c.Network, err)
	}
	r := Record{Call: c, MAC: port.MAC.String(), Lease: lease}
	if err := h.store.put(r); err != nil {
		// Without a record, the following DEL cannot release the lease.
		return nil, errors.Join(fmt.Errorf("save the lease: %w", err), h.Client.Release(ctx, port, config, lease))
	}
	h.start(r, config)
	h.Log.Info("lease acquired", "pod", c.Pod().Namespace+"/"+c.Pod().Name, "interface", c.IfName, "network", c.Network, "address", lease.Prefix, "server", lease.Server, "valid", lease.Valid)
	return lease.result(config.Priority), nil
}

// acquire requests a lease until the time for the response begins.
func (h *Handler) acquire(ctx context.Context, port Port, config Config) (*dhcpv4.DHCPv4, error) {
	limit := cmp.Or(h.Within, defaultAcquireTimeout)
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)-responseReserve)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no DHCP server answered within %s", limit.Round(time.Second)))
	defer cancel()
	for {
		ack, err := h.Client.Acquire(ctx, port, config, netip.Addr{})
		_, refused := errors.AsType[*RefusedError](err)
		if refused {
			// Another client may have got the offered address: according to RFC 2131, the client starts again.
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(refusedDelay):
				continue
			}
		}
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return ack, err
	}
}

// Check implements cniserver.Handler: it checks that the lease is valid and is for the address that Add returned. The calling plugin checks the
// interface.
func (h *Handler) Check(_ context.Context, c cniserver.Call, added *current.Result) error {
	h.mu.Lock()
	k := h.keepers[key(c)]
	h.mu.Unlock()
	if k == nil {
		return fmt.Errorf("network %s: there is no lease for %s", c.Network, c.IfName)
	}
	prefix, ok := k.usable()
	if !ok {
		return fmt.Errorf("network %s: the lease of %s for %s is lost", c.Network, prefix.Addr(), c.IfName)
	}
	if added != nil && !slices.ContainsFunc(added.IPs, func(ip *current.IPConfig) bool { return ip.Address.IP.Equal(prefix.Addr().AsSlice()) }) {
		return fmt.Errorf("network %s: the lease for %s is of %s", c.Network, c.IfName, prefix.Addr())
	}
	return nil
}

// Del implements cniserver.Handler: it releases the lease. If the release cannot be sent, Del logs that, and the lease expires later.
func (h *Handler) Del(ctx context.Context, c cniserver.Call) error {
	var r Record
	found, config := false, Config{}
	if k := h.stop(c); k != nil {
		r, config, found = *k.record.Load(), k.config, true
	} else {
		var err error
		if r, found, err = h.store.get(key(c)); err != nil {
			h.Log.Error("lease cannot be read and is not released; it expires", "container", c.ContainerID, "interface", c.IfName, "error", err)
		}
		if found {
			config, _ = readCall(r.Call)
		}
	}
	if found && r.Lost == nil {
		h.release(ctx, c, r, config)
	}
	if err := h.store.remove(key(c)); err != nil {
		return fmt.Errorf("remove the record of a lease: %w", err)
	}
	return nil
}

// release sends the release of a lease if its interface still exists.
func (h *Handler) release(ctx context.Context, c cniserver.Call, r Record, config Config) {
	log := h.Log.With("container", c.ContainerID, "interface", c.IfName, "address", r.Lease.Prefix.Addr(), "expires", r.Lease.Since.Add(r.Lease.Valid))
	err := ErrGone
	if c.NetNS != "" {
		err = h.Client.Release(ctx, r.port(), config, r.Lease)
	}
	switch {
	case errors.Is(err, ErrGone):
		log.Warn("lease not released: its interface no longer exists; the server keeps the address until the lease expires")
	case err != nil:
		log.Warn("lease not released; the server keeps the address until the lease expires", "error", err)
	default:
		log.Info("lease released")
	}
}

// Status implements cniserver.Handler.
func (h *Handler) Status(context.Context) error { return nil }
