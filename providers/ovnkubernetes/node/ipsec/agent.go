package ipsec

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodecert"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	// resyncInterval is how often charon is compared with the desired state without a change.
	resyncInterval = 10 * time.Second
	debounce       = 20 * time.Millisecond
	// steady is how long a node must have had keys with a peer before it uses them in phase Accept: the peer may not have installed its own yet.
	steady = time.Second
	// retryAfter is the delay after which a node initiates keys with a peer again. otherAfter is the time without keys after which the other side than that of
	// Initiates initiates, too.
	retryAfter, otherAfter = 3 * time.Second, 15 * time.Second
	// surplusAfter is the time after which a second association with a peer is removed. Charon removes a replaced one after ten seconds.
	surplusAfter = 15 * time.Second
	// lateAfter is the time after which missing keys with a peer are a problem.
	lateAfter = 30 * time.Second
	// certificateInterval is how often the certificate is checked. refusedPause is the delay after a refused request.
	certificateInterval, refusedPause = 10 * time.Second, 5 * time.Minute
)

const (
	topicConfig      agent.Topic = "configuration"
	topicCertificate agent.Topic = "certificate"
	topicCharon      agent.Topic = "charon"
	topicPeers       agent.Topic = "peers"
	topicNodes       agent.Topic = "nodes"
	topicRoutes      agent.Topic = "routes"
	topicCleartext   agent.Topic = "guard"
	topicAPI         agent.Topic = "api"
	topicReport      agent.Topic = "report"
	topicMTU         agent.Topic = "mtu"
)

// Options is the configuration of Run. All fields are required.
type Options struct {
	agent.Process
	Config config.Config
	// Client reads nodes, and annotates the agent's pod.
	Client kubernetes.Interface
	// Signer signs the certificate of the node.
	Signer nodecert.Signer
	// ESP is the ESP implementation.
	ESP ESP
}

// status is the agent's status in addition to problems.
type status struct {
	ready  bool
	report agentconfig.Report
}

// state is the running agent.
type state struct {
	Options
	identity nodecert.Identity
	pair     *agent.Cell[*tls.Certificate]
	nodes    *nodes
	board    *agent.Board[status]
	beat     agent.Beat
	changed  agent.Trigger
	metrics  *metrics
	reasons  reasons
	// phase is the current phase; empty until it is known.
	phase agentconfig.Phase
	// hadCertificate is true if the node had a certificate when the agent started: peers may have keys with it.
	hadCertificate bool
	// charon is the agent's connection to charon.
	charon charonState
	peers  map[string]*peerState
}

// peerState is the state of the keys with a peer.
type peerState struct {
	// since is when complete last changed. initiated is when keys were last initiated.
	since, initiated time.Time
	complete         bool
}

// shouldInitiate reports whether the node initiates keys with a peer although Initiates selects the other side. It does so once after charon has restarted (at
// since, if restarted is true), so that the peer stops using the keys of the former charon, and when keys have been missing for otherAfter. The first charon
// leaves it to the other side, since simultaneous initiation creates two associations.
func (p peerState) shouldInitiate(now, since time.Time, restarted bool) bool {
	return restarted && p.initiated.Before(since) || now.Sub(p.since) > otherAfter && !p.complete
}

// reasons are charon's reasons for missing keys, by the name of the connection.
type reasons struct {
	mu  sync.Mutex
	all map[string]string
}

func (r *reasons) set(connection, sentence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]string{}
	}
	r.all[connection] = sentence
}

func (r *reasons) get(connection string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[connection]
}

// Identity returns the certificate identity of a node for IPsec.
func Identity(node string, c config.Config) nodecert.Identity {
	return nodecert.Identity{
		For: "IPsec", Prefix: "ovn-ipsec-",
		Template: x509.CertificateRequest{Subject: pkix.Name{CommonName: node, Organization: []string{"ovnkubernetes"}}, DNSNames: []string{node}},
		Dir:      c.Directories.State, Base: "ipsec", CAFile: c.IPsec.CA,
	}
}

// Run runs the agent until the context ends. Charon and the keys of this node end, too. The handling of unencrypted packets stays as in the current phase.
func Run(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Config.Directories.State, 0o700); err != nil {
		return fmt.Errorf("create directory of the agent: %w", err)
	}
	s := &state{
		Options: o, identity: Identity(o.Node, o.Config), pair: agent.NewCell[*tls.Certificate](nil), board: agent.NewBoard(status{}, o.Log), changed: agent.NewTrigger(),
		peers: map[string]*peerState{},
	}
	before, _ := s.identity.Load(time.Now())
	s.hadCertificate = before != nil
	s.metrics = newMetrics(o.Version, s)
	s.nodes = newNodes(o.Client, s.changed.Fire)
	health := agent.Health{
		Ready:   func() (bool, agent.Problems) { v := s.board.View(); return v.Status.ready, v.Problems },
		Metrics: s.metrics, Beat: &s.beat, Now: time.Now,
	}
	address := o.Config.Health
	if address == "" {
		address = agentconfig.HealthIPsec
	}
	process := daemon{runDir: o.Config.IPsec.RunDir, command: []string{o.Config.IPsec.Charon}, log: o.Log, reasons: &s.reasons}
	s.charon.socket = process.socket()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, address) })
	group.Go(func() error { s.nodes.controller.RunWithContext(ctx); return nil })
	group.Go(func() error { s.keepCertificate(ctx); return nil })
	group.Go(func() error { s.keepReport(ctx); return nil })
	group.Go(func() error {
		return process.run(ctx, o.ESP, func(pid int) {
			o.ESP.started(pid)
			s.metrics.starts.Inc()
			s.charon.restarted()
			s.changed.Fire()
		})
	})
	group.Go(func() error {
		agent.Loop{Apply: s.apply, Interval: resyncInterval, Debounce: debounce, Changed: s.changed, Now: time.Now, Beat: &s.beat}.Run(ctx)
		return nil
	})
	err := group.Wait()
	s.charon.close()
	err = errors.Join(err, s.ESP.remove())
	if s.phase == agentconfig.PhasePlain {
		// IPsec is being disabled, so nothing may remain.
		err = errors.Join(err, Remove(context.WithoutCancel(ctx), o.Config))
	}
	return err
}

// apply reconciles the node. Each step reports its own problem. A missing prerequisite is not an error, since it is watched.
func (s *state) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	defer s.publish()
	phase, encapsulation, err := readConfiguration(s.Config.IPsec.ConfigDir)
	s.board.Note(topicConfig, err)
	if err == nil {
		s.phase = phase
	}
	if s.phase == "" {
		return nil
	}
	err = BlockCleartext(ctx, s.phase, s.Config.TunnelAddress, s.Config.TunnelPort, s.ESP)
	s.board.Note(topicCleartext, err)
	if err != nil {
		return err
	}
	peers, known := s.desiredPeers()
	if !known {
		return nil
	}
	associations, err := s.converge(ctx, peers, encapsulation)
	s.board.Note(topicCharon, err)
	s.updatePeers(peers, associations)
	s.board.Note(topicPeers, s.peerProblem(peers))
	if err == nil {
		err = s.ESP.direct(ctx, s.encrypted(peers))
		s.board.Note(topicRoutes, err)
	}
	s.board.Note(topicMTU, s.mtuProblem())
	if err != nil {
		// Charon is starting or has ended: retry soon, without the back-off of errors.
		time.AfterFunc(charonRetry, s.changed.Fire)
	}
	return nil
}

// Phase returns the phase in the files of the ConfigMap; empty while IPsec is off.
func Phase(dir string) (agentconfig.Phase, error) {
	phase, _, err := readConfiguration(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return phase, err
}

// readConfiguration reads the phase and the encapsulation.
func readConfiguration(dir string) (agentconfig.Phase, string, error) {
	word := func(key string) (string, error) {
		text, err := os.ReadFile(filepath.Join(dir, key))
		if err != nil {
			return "", fmt.Errorf("read the configuration of IPsec: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	text, err := word(agentconfig.KeyIPsecPhase)
	if err != nil {
		return "", "", err
	}
	phase, err := agentconfig.ParsePhase(text)
	if err != nil {
		return "", "", err
	}
	encapsulation, err := word(agentconfig.KeyIPsecEncapsulation)
	return phase, encapsulation, err
}

// desiredPeers returns the other nodes: those of the API server, or the saved ones until it responds.
func (s *state) desiredPeers() ([]Peer, bool) {
	file := peersFile(filepath.Join(s.Config.Directories.State, "ipsec-peers.json"))
	s.board.Note(topicAPI, s.nodes.problem())
	all, known := s.nodes.list()
	if !known {
		peers, err := file.read()
		s.board.Note(topicNodes, err)
		return peers, err == nil && peers != nil
	}
	peers, err := Peers(all, s.Node, s.Config.TunnelAddress)
	s.board.Note(topicNodes, errors.Join(err, file.write(peers)))
	return peers, true
}

// updatePeers updates the state of the keys with peers.
func (s *state) updatePeers(peers []Peer, associations []Association) {
	now := time.Now()
	next := map[string]*peerState{}
	for _, p := range peers {
		one := s.peers[p.Name]
		complete := len(missing(associations, p)) == 0
		if one == nil {
			one = &peerState{since: now}
		}
		if one.complete != complete {
			one.complete, one.since = complete, now
		}
		if complete {
			s.reasons.set(nameOf(p.Name), "")
			if now.Sub(one.since) < steady {
				time.AfterFunc(steady, s.changed.Fire)
			}
		}
		next[p.Name] = one
	}
	s.peers = next
}

// encrypted returns the peers to which packets are encrypted. In phase Require these are all peers: packets to those without keys are dropped.
func (s *state) encrypted(peers []Peer) []netip.Addr {
	var out []netip.Addr
	for _, p := range peers {
		one := s.peers[p.Name]
		if s.phase == agentconfig.PhaseRequire || s.phase == agentconfig.PhaseAccept && one.complete && time.Since(one.since) >= steady {
			out = append(out, p.Address)
		}
	}
	return out
}

// missingPeers returns the names of peers to which packets cannot be encrypted.
func (s *state) missingPeers() []string {
	var out []string
	for name, one := range s.peers {
		if !one.complete || s.phase == agentconfig.PhaseAccept && time.Since(one.since) < steady {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// mtuProblem returns an error if pods send packets that are too large for the ESP implementation.
func (s *state) mtuProblem() error {
	link, err := netlink.LinkByName(topology.ManagementLink)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil // the agent of the pod network adds it
	}
	if err != nil {
		return fmt.Errorf("read the MTU of %s: %w", topology.ManagementLink, err)
	}
	return fits(link.Attrs().MTU, s.ESP, topology.GeneveOverhead(s.Config.TunnelAddress.Is6()))
}

// fits returns an error if an ESP implementation does not carry the packets of pods with an MTU in tunnels with an overhead.
func fits(mtu int, esp ESP, overhead int) error {
	limit := esp.MaxPacket() - overhead
	if esp.MaxPacket() == 0 || mtu <= limit {
		return nil
	}
	return fmt.Errorf("pods have an MTU of %d bytes, and larger packets than %d bytes to and from other nodes are lost: the node's kernel has no ESP, and charon's takes up to %d bytes; "+
		"lower spec.defaultNetwork.ovnKubernetesConfig.mtu to %[2]d by spec.migration.mtu", mtu, limit, esp.MaxPacket())
}

// peerProblem returns an error with the peers whose keys have been missing for lateAfter, with charon's reasons.
func (s *state) peerProblem(peers []Peer) error {
	var errs []error
	for _, p := range peers {
		one := s.peers[p.Name]
		if late := time.Since(one.since); !one.complete && late > lateAfter {
			reason := s.reasons.get(nameOf(p.Name))
			if reason == "" {
				reason = fmt.Sprintf("no answer; UDP ports 500 and 4500 of %s must be open", p.Address)
			}
			errs = append(errs, fmt.Errorf("there are no keys with node %s: %s", p.Name, reason))
		}
	}
	return errors.Join(errs...)
}

// publish updates the status. A node is ready if it has a certificate and charon has its connections.
func (s *state) publish() {
	pair, _ := s.pair.Get()
	view := s.board.View()
	report := agentconfig.Report{Phase: s.phase, ESP: s.ESP.Name(), Overhead: s.ESP.Overhead(), Peers: len(s.peers), Missing: s.missingPeers(), Problems: view.Problems.Sentences()}
	if pair != nil {
		report.Expires = new(pair.Leaf.NotAfter.UTC())
	}
	ready := pair != nil && s.phase != "" && !view.Problems.Has(topicConfig, topicCharon, topicCleartext, topicRoutes)
	s.board.Update(func(b *status) bool { b.ready, b.report = ready, report; return true })
}

// keepCertificate renews the node's certificate until the context ends.
func (s *state) keepCertificate(ctx context.Context) {
	for ctx.Err() == nil {
		pair, loadErr := s.identity.Load(time.Now())
		s.pair.Update(func(p **tls.Certificate) bool {
			same := *p == pair || *p != nil && pair != nil && (*p).Leaf.Equal(pair.Leaf)
			*p = pair
			return !same
		})
		s.changed.Fire()
		if !nodecert.Due(pair, time.Now()) {
			s.board.Note(topicCertificate, nil)
			agent.Pause(ctx, certificateInterval, nil)
			continue
		}
		err := s.identity.Renew(ctx, s.Signer, time.Now)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			s.Log.Info("issued a certificate for IPsec")
			s.metrics.renewals.Inc()
			s.board.Note(topicCertificate, nil)
			continue
		case pair == nil:
			s.board.Note(topicCertificate, fmt.Errorf("the node cannot be encrypted to: %w: %w", loadErr, err))
		default:
			s.board.Note(topicCertificate, fmt.Errorf("the node's certificate is not renewed; it expires at %s: %w", pair.Leaf.NotAfter.UTC().Format(time.RFC3339), err))
		}
		pause := certificateInterval
		if errors.Is(err, nodecert.ErrRefused) {
			pause = refusedPause
		}
		agent.Pause(ctx, pause, nil)
	}
}
