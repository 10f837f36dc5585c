package proxyconfig

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Parameters of probes. A proxy that does not answer takes timeout*tries + pause*(tries-1) = 17 s, in a goroutine of
// its own.
const (
	probeTimeout  = 5 * time.Second
	probePause    = time.Second
	probeTries    = 3
	probeParallel = 8
	// probeInterval is the time after which a failed round is repeated.
	probeInterval = time.Minute
)

// endpointOf is a readiness endpoint, its field and its proxy.
type endpointOf struct {
	at         *field.Path
	url, proxy string
}

// probeRound is a set of endpoints that are probed together. roots are the trusted CAs in PEM form.
type probeRound struct {
	endpoints []endpointOf
	roots     string
}

// key identifies a round by its content.
func (r *probeRound) key() string {
	sum := sha256.New()
	for _, e := range r.endpoints {
		fmt.Fprintf(sum, "%q %q\n", e.url, e.proxy)
	}
	sum.Write([]byte(r.roots))
	return string(sum.Sum(nil))
}

// probeResult is the result of a probe; problem is empty if the endpoint is reachable.
type probeResult struct{ at, problem string }

// prober probes endpoints in the background. It runs one round at a time; a new one replaces it.
type prober struct {
	timeout, pause time.Duration
	tries          int
	now            func() time.Time
	// changed is called when there are new results.
	changed func()
	count   func(passed bool)

	mu      sync.Mutex
	base    context.Context
	current *activeRound
	group   sync.WaitGroup
}

// activeRound is the current round and its last results.
type activeRound struct {
	key     string
	cancel  context.CancelFunc
	busy    bool
	done    bool
	results []probeResult
	at      time.Time
}

// Start runs rounds until the context ends, and waits for them.
func (p *prober) Start(ctx context.Context) error {
	p.mu.Lock()
	p.base = ctx
	p.mu.Unlock()
	p.changed()
	<-ctx.Done()
	p.stop()
	p.group.Wait()
	return nil
}

// ask returns the results of a round, and whether there are any. It starts the round if needed. A failed round is repeated after
// probeInterval; its last results are valid until then. Nil stops probing.
func (p *prober) ask(r *probeRound) (results []probeResult, done bool) {
	if r == nil {
		p.stop()
		return nil, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base == nil || p.base.Err() != nil {
		return nil, false
	}
	key := r.key()
	if p.current == nil || p.current.key != key {
		if p.current != nil {
			p.current.cancel()
		}
		p.current = &activeRound{key: key, cancel: func() {}}
		p.begin(p.current, r)
	}
	c := p.current
	if c.done && !c.busy && len(failures(c.results)) > 0 && p.now().Sub(c.at) >= probeInterval {
		p.begin(c, r)
	}
	return c.results, c.done
}

// stop cancels the current round and drops its results.
func (p *prober) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.cancel()
	}
	p.current = nil
}

// begin starts probing in the background. The lock must be held.
func (p *prober) begin(c *activeRound, r *probeRound) {
	ctx, cancel := context.WithCancel(p.base)
	c.cancel, c.busy = cancel, true
	p.group.Go(func() {
		defer cancel()
		results := p.run(ctx, r)
		p.mu.Lock()
		current := p.current == c && ctx.Err() == nil
		if current {
			c.busy, c.done, c.results, c.at = false, true, results, p.now()
		}
		p.mu.Unlock()
		if current {
			p.changed()
		}
	})
}

// run probes all endpoints of a round, some concurrently, and returns the results in order.
func (p *prober) run(ctx context.Context, r *probeRound) []probeResult {
	results := make([]probeResult, len(r.endpoints))
	var group errgroup.Group
	group.SetLimit(probeParallel)
	pool := rootsOf(r.roots)
	for i, e := range r.endpoints {
		group.Go(func() error {
			results[i] = probeResult{at: e.at.String(), problem: p.probe(ctx, pool, e)}
			p.count(results[i].problem == "")
			return nil
		})
	}
	_ = group.Wait() // errors are in the results
	return results
}
