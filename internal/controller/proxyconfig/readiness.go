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

// How endpoints are probed. A proxy that does not answer costs timeout*tries + pause*(tries-1) = 17 s, in a goroutine of
// its own.
const (
	probeTimeout  = 5 * time.Second
	probePause    = time.Second
	probeTries    = 3
	probeParallel = 8
	// probeInterval is when a round that has failed is tried again.
	probeInterval = time.Minute
)

// endpointOf is one readiness endpoint, the field that names it, and the proxy that it is asked through.
type endpointOf struct {
	at         *field.Path
	url, proxy string
}

// round is what is probed together: some endpoints, and whom to trust, in PEM form.
type round struct {
	endpoints []endpointOf
	roots     string
}

// key distinguishes rounds.
func (r *round) key() string {
	sum := sha256.New()
	for _, e := range r.endpoints {
		fmt.Fprintf(sum, "%q %q\n", e.url, e.proxy)
	}
	sum.Write([]byte(r.roots))
	return string(sum.Sum(nil))
}

// answer is what a probe has found; an empty problem is that the endpoint can be reached.
type answer struct{ at, problem string }

// prober probes endpoints outside of the loop's worker. There is one round at a time; another one takes its place.
type prober struct {
	timeout, pause time.Duration
	tries          int
	now            func() time.Time
	// changed is called when there are answers.
	changed func()
	counts  func(passed bool)

	mu      sync.Mutex
	base    context.Context
	current *running
	group   sync.WaitGroup
}

// running is a round, and what was answered last.
type running struct {
	key     string
	cancel  context.CancelFunc
	busy    bool
	done    bool
	answers []answer
	at      time.Time
}

// Start lets rounds run until the context ends, and waits for their end.
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

// ask returns the answers of a round, and whether there are any yet; if not, the round is begun, or goes on. A round that
// has failed is probed again after probeInterval; until then, and until it has been, its last answers stand. Nil stops
// everything.
func (p *prober) ask(r *round) (answers []answer, done bool) {
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
		p.current = &running{key: key, cancel: func() {}}
		p.begin(p.current, r)
	}
	c := p.current
	if c.done && !c.busy && len(failures(c.answers)) > 0 && p.now().Sub(c.at) >= probeInterval {
		p.begin(c, r)
	}
	return c.answers, c.done
}

// stop cancels what runs and forgets what was answered.
func (p *prober) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.cancel()
	}
	p.current = nil
}

// begin probes in the background. The lock is held.
func (p *prober) begin(c *running, r *round) {
	ctx, cancel := context.WithCancel(p.base)
	c.cancel, c.busy = cancel, true
	p.group.Go(func() {
		defer cancel()
		answers := p.run(ctx, r)
		p.mu.Lock()
		current := p.current == c && ctx.Err() == nil
		if current {
			c.busy, c.done, c.answers, c.at = false, true, answers, p.now()
		}
		p.mu.Unlock()
		if current {
			p.changed()
		}
	})
}

// run probes all endpoints of a round, some at once, and returns an answer for each, in order.
func (p *prober) run(ctx context.Context, r *round) []answer {
	answers := make([]answer, len(r.endpoints))
	var group errgroup.Group
	group.SetLimit(probeParallel)
	pool := rootsOf(r.roots)
	for i, e := range r.endpoints {
		group.Go(func() error {
			answers[i] = answer{at: e.at.String(), problem: p.probe(ctx, pool, e)}
			p.counts(answers[i].problem == "")
			return nil
		})
	}
	_ = group.Wait() // what went wrong is in the answers
	return answers
}
