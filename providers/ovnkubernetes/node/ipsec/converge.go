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

// charonRetry is the delay before a failed command to charon is repeated.
const charonRetry = 200 * time.Millisecond

// errNoCertificate means that the node cannot authenticate yet; the certificate has its own topic.
var errNoCertificate = errors.New("charon has nothing to authenticate the node with yet")

// charonState is a connection to charon and the state loaded over it. A zero value with a socket is ready for use.
type charonState struct {
	socket string
	mu     sync.Mutex
	// stale is true after charon has restarted and lost the loaded state. starts is the number of starts.
	stale  bool
	starts int

	session *session
	// events is a separate connection for events.
	events      *session
	since       time.Time
	credentials string
	// connections are hashes of the loaded connections, by name.
	connections map[string]string
	// surplus has, by ID, the time since when associations have been superfluous.
	surplus map[uint32]time.Time
}

// restarted records a start of charon.
func (c *charonState) restarted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
	c.starts++
}

// first reports whether the agent has started charon only once.
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

// open returns the connection. It reconnects after charon has restarted.
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
	if err := commands.subscribeList(); err != nil {
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
		fire() // the connection has ended
	}()
	c.session, c.events, c.since, c.credentials, c.connections = &commands, &watch, time.Now(), "", map[string]string{}
	return c.session, nil
}

// converge reconciles charon's connections, and initiates missing keys. It returns charon's associations.
func (s *state) converge(ctx context.Context, peers []Peer, encapsulation string) ([]Association, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	session, err := s.charon.open(s.changed.Fire)
	if err != nil {
		return nil, err
	}
	associations, err := s.load(ctx, session, peers, encapsulation)
	if err != nil && !errors.Is(err, errNoCertificate) {
		s.charon.close() // the next call reconnects and loads everything again
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
		// If the kernel encrypts, packets are unencrypted as soon as there are no connections.
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
	return associations, s.initiate(ctx, session, peers, associations)
}

// removeSurplus removes superfluous associations with the same peer after surplusAfter. During reauthentication there are two as well, of which charon removes
// one.
func (s *state) removeSurplus(ctx context.Context, session *session, peers []Peer, associations []Association) error {
	now, seen := time.Now(), map[uint32]time.Time{}
	for _, id := range surplus(associations, s.Node, peers) {
		since, found := s.charon.surplus[id]
		if !found {
			since = now
		}
		seen[id] = since
		if now.Sub(since) < surplusAfter {
			continue
		}
		s.Log.Info("removing an association, since there is another one with the same node", "association", id)
		if err := session.terminateOne(ctx, id); err != nil {
			return err
		}
	}
	s.charon.surplus = seen
	return nil
}

// loadCredentials loads the key of the node and the CAs if they have changed.
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

// loadConnections loads changed connections, and removes undesired ones. A change of a connection does not affect existing keys.
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
		if _, found := desired[name]; found {
			continue
		}
		if err := session.unload(ctx, name); err != nil {
			return err
		}
		delete(s.charon.connections, name)
	}
	return nil
}

// initiate initiates missing keys with peers, according to Initiates and shouldInitiate.
func (s *state) initiate(ctx context.Context, session *session, peers []Peer, associations []Association) error {
	now, restarted := time.Now(), s.hadCertificate || !s.charon.first()
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
		initiates := Initiates(s.Node, p) || one.shouldInitiate(now, s.charon.since, restarted)
		connecting := slices.ContainsFunc(associations, func(a Association) bool { return a.Connection == nameOf(p.Name) && !a.Established })
		if !initiates || connecting || now.Sub(one.initiated) < retryAfter && one.initiated.After(s.charon.since) {
			continue
		}
		one.initiated = now
		for _, child := range lacks {
			if err := session.initiate(ctx, nameOf(p.Name), child); err != nil {
				return err
			}
		}
		time.AfterFunc(retryAfter, s.changed.Fire)
	}
	return nil
}
