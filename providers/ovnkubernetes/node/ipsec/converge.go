package ipsec

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/strongswan/govici/vici"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// charonRetry is how soon a command to charon is repeated that failed.
const charonRetry = 200 * time.Millisecond

// errNoCertificate is that the node cannot authenticate yet; the certificate is a topic of its own.
var errNoCertificate = errors.New("charon has nothing to authenticate the node with yet")

// charonState is a connection to charon, and what was loaded over it. Its zero value with a socket is ready.
type charonState struct {
	socket string
	mu     sync.Mutex
	// stale is true after charon has started again: it knows nothing of what was loaded. starts is how often it has started.
	stale  bool
	starts int

	session *session
	// events is a connection of its own: its events are read as they come.
	events      *session
	since       time.Time
	credentials string
	// connections are hashes of what was loaded, by name.
	connections map[string]string
	// surplus is since when associations are there that others make superfluous, by their IDs.
	surplus map[uint32]time.Time
}

// restarted notes that charon has started.
func (c *charonState) restarted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
	c.starts++
}

// first reports whether no charon ran before the one that runs, as far as the agent has seen.
func (c *charonState) first() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts <= 1
}

func (c *charonState) close() {
	for _, s := range []*session{c.session, c.events} {
		if s != nil {
			_ = s.Close()
		}
	}
	c.session, c.events, c.credentials, c.connections = nil, nil, "", map[string]string{}
	c.surplus = nil
}

// open returns the connection, which is a new one after charon has started again.
func (c *charonState) open(fire func()) (*session, error) {
	c.mu.Lock()
	stale := c.stale
	c.stale = false
	c.mu.Unlock()
	if stale {
		c.close()
	}
	if c.session != nil {
		return c.session, nil
	}
	commands, err := dial(c.socket)
	if err != nil {
		return nil, err
	}
	if err := commands.lists(); err != nil {
		return nil, errors.Join(err, commands.Close())
	}
	watch, err := dial(c.socket)
	if err != nil {
		return nil, errors.Join(err, commands.Close())
	}
	if err := watch.Subscribe("ike-updown", "child-updown"); err != nil {
		return nil, errors.Join(fmt.Errorf("charon: %w", err), commands.Close(), watch.Close())
	}
	events := make(chan vici.Event, 16)
	watch.NotifyEvents(events)
	go func() {
		for range events {
			fire()
		}
		fire() // it has ended
	}()
	c.session, c.events, c.since, c.credentials, c.connections = &commands, &watch, time.Now(), "", map[string]string{}
	return c.session, nil
}

// converge has charon have the connections that it should have, and begins to agree on keys where there are none. It returns what charon has agreed on.
func (s *state) converge(ctx context.Context, peers []Peer, encapsulation string) ([]Association, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	session, err := s.charon.open(s.changed.Fire)
	if err != nil {
		return nil, err
	}
	associations, err := s.load(ctx, session, peers, encapsulation)
	if err != nil && !errors.Is(err, errNoCertificate) {
		s.charon.close() // it is made again, and everything is loaded again
	}
	return associations, err
}

func (s *state) load(ctx context.Context, session *session, peers []Peer, encapsulation string) ([]Association, error) {
	pair, _ := s.pair.Get()
	if pair == nil {
		return nil, errNoCertificate
	}
	if err := s.loadCredentials(ctx, session, pair); err != nil {
		return nil, err
	}
	desired := map[string]Connection{}
	if s.phase != agentconfig.PhasePlain || !s.ESP.Transport() {
		// Where the kernel encrypts, packets are in the clear as soon as there are no connections.
		desired = Desired(Settings{
			Name: s.Node, Address: s.Config.TunnelAddress, Port: s.Config.TunnelPort, Transport: s.ESP.Transport(), Encapsulate: encapsulation == "Always",
			Certificate: pair.Certificate[0],
		}, peers)
	}
	if err := s.loadConnections(ctx, session, desired); err != nil {
		return nil, err
	}
	associations, err := session.associations(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range stray(associations, desired) {
		if err := session.terminate(ctx, name); err != nil {
			return nil, err
		}
	}
	if len(desired) == 0 {
		return associations, nil
	}
	if err := s.removeSurplus(ctx, session, peers, associations); err != nil {
		return nil, err
	}
	return associations, s.begin(ctx, session, peers, associations)
}

// removeSurplus removes associations that another one with the same peer makes superfluous, once both have been there for surplusAfter: while nodes present
// their certificates again there are two as well, of which charon removes one.
func (s *state) removeSurplus(ctx context.Context, session *session, peers []Peer, associations []Association) error {
	now, seen := time.Now(), map[uint32]time.Time{}
	for _, id := range surplus(associations, s.Node, peers) {
		since, known := s.charon.surplus[id]
		if !known {
			since = now
		}
		seen[id] = since
		if now.Sub(since) < surplusAfter {
			continue
		}
		s.Log.Info("an association is removed: there is another one with the same node", "association", id)
		if err := session.terminateOne(ctx, id); err != nil {
			return err
		}
	}
	s.charon.surplus = seen
	return nil
}

// loadCredentials loads the key of the node and the CAs, unless charon has them.
func (s *state) loadCredentials(ctx context.Context, session *session, pair *tls.Certificate) error {
	trusted, err := s.identity.Trusted()
	if err != nil {
		return err
	}
	key, err := encodeKey(pair)
	if err != nil {
		return err
	}
	sum := hash(key, string(trusted.PEM()))
	if s.charon.credentials == sum {
		return nil
	}
	if err := session.loadCredentials(ctx, key, raw(trusted)); err != nil {
		return err
	}
	s.charon.credentials = sum
	return nil
}

func encodeKey(pair *tls.Certificate) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return "", fmt.Errorf("encode key for IPsec: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

func raw(all certs.Bundle) []string {
	var out []string
	for _, c := range all {
		out = append(out, string(c.Raw))
	}
	return out
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// loadConnections loads connections that differ, and removes those that are not wanted. Keys that are in use stay when a connection changes.
func (s *state) loadConnections(ctx context.Context, session *session, desired map[string]Connection) error {
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		sum := hash(fmt.Sprintf("%+v", desired[name]))
		if s.charon.connections[name] == sum {
			continue
		}
		if err := session.load(ctx, name, desired[name]); err != nil {
			return err
		}
		s.charon.connections[name] = sum
	}
	loaded, err := session.loaded(ctx)
	if err != nil {
		return err
	}
	for _, name := range loaded {
		if _, wanted := desired[name]; wanted {
			continue
		}
		if err := session.unload(ctx, name); err != nil {
			return err
		}
		delete(s.charon.connections, name)
	}
	return nil
}

// begin begins to agree on keys with peers with which there are none: the side that Initiates says, the other one when it hurries.
func (s *state) begin(ctx context.Context, session *session, peers []Peer, associations []Association) error {
	now, again := time.Now(), s.member || !s.charon.first()
	for _, p := range peers {
		lacks := missing(associations, p)
		one := s.peers[p.Name]
		if len(lacks) == 0 {
			continue
		}
		if one == nil {
			one = &peerState{since: now}
			s.peers[p.Name] = one
		}
		mine := Initiates(s.Node, p) || one.hurries(now, s.charon.since, again)
		connecting := slices.ContainsFunc(associations, func(a Association) bool { return a.Connection == nameOf(p.Name) && !a.Established })
		if !mine || connecting || now.Sub(one.begun) < retryAfter && one.begun.After(s.charon.since) {
			continue
		}
		one.begun = now
		for _, child := range lacks {
			if err := session.initiate(ctx, nameOf(p.Name), child); err != nil {
				return err
			}
		}
		time.AfterFunc(retryAfter, s.changed.Fire)
	}
	return nil
}
