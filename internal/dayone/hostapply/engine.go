package hostapply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Engine does one pass at a time. All fields but Automatic, Targets and Applied must be set.
type Engine struct {
	Backend Backend
	// Documents is the directory of documents, read at each pass. See package placement for what lies in it.
	Documents fs.FS
	// Resolve reads a document, or one with captures against what is live.
	Resolve func(name string, data []byte, live livestate.State) (*nmstate.Document, error)
	// Automatic makes the document of a host that has none; nil is no automatic mode. It is asked again for a while when the error
	// is automatic.ErrNoUplink.
	Automatic func(live livestate.State) (*nmstate.Document, error)
	Prober    Prober
	// Targets are probed besides the gateways: those that answered before a change must answer after it.
	Targets []Target

	// Dir is a directory that survives a reboot, for the journal and the state. One engine at a time may use it.
	Dir string
	// Report is the file of the last pass's report, for people and for anyone who carries it to the cluster.
	Report string
	// Applied is a file that other programs take for the sign that a document was applied; a copy of the document is
	// written there once it was verified, and never before. Empty for none.
	Applied string
	// Boot tells this boot from others (/proc/sys/kernel/random/boot_id).
	Boot string

	// Hostname returns the name that the host has now.
	Hostname func() (string, error)
	Limits   Limits
	Now      func() time.Time
	// Wait returns after a while, or with the context's error. Tests make it short.
	Wait func(context.Context, time.Duration) error
	Log  *slog.Logger
}

// Limits are how long the parts of a pass may take. Use DefaultLimits, and change what you must.
type Limits struct {
	Name    time.Duration // for a host name that may choose a document
	Uplink  time.Duration // for a default route that automatic mode can use
	Apply   time.Duration
	Verify  time.Duration // after Apply, until all is as wanted and answers
	Restore time.Duration // one try of it
	Probe   time.Duration // of one target
	Poll    time.Duration // between two looks
	// Tries is how often a restore is tried in one pass, and how often in a row the process may die in the
	// application of a document before that document is no longer tried.
	Tries int
}

// DefaultLimits suit a server: five minutes for the host name as a slow DHCP server and reverse DNS need them, and what LACP, spanning
// tree and IPv6 (60 s for a bindable address) take, four seconds for a probe as the kernel asks three times, a second apart, for a neighbour.
func DefaultLimits() Limits {
	return Limits{
		Name: 5 * time.Minute, Uplink: time.Minute, Apply: 2 * time.Minute, Verify: 90 * time.Second, Restore: time.Minute,
		Probe: 4 * time.Second, Poll: time.Second / 2, Tries: 3,
	}
}

// total is how long a change takes at most from snapshot to commit, with some air.
func (l Limits) total() time.Duration { return l.Apply + l.Verify + 10*time.Second }

// Result is the outcome of a pass.
type Result string

// The results. After RolledBack the host is as it was; after Broken not even that worked, and the next pass tries again.
const (
	Applied    Result = "applied"
	Unchanged  Result = "unchanged" // the same content was applied, and is live
	Nothing    Result = "nothing"   // no document, and automatic mode is off or has nothing to do
	RolledBack Result = "rolled-back"
	Refused    Result = "refused" // before anything was changed
	Broken     Result = "broken"
)

// Run does one pass. The error is nil for Applied, Unchanged and Nothing only, and for RolledBack if an earlier request for the document
// ended so, and the host has what it had before. The report has every outcome.
func (e *Engine) Run(ctx context.Context) (Report, error) { return e.conclude(e.pass(ctx, nil)) }

// conclude completes and publishes the report of a pass.
func (e *Engine) conclude(report Report, err error) (Report, error) {
	report.Time = e.Now()
	if err != nil {
		report.Message = err.Error()
		if report.Result == "" {
			report.Result = Refused
		}
	}
	return report, errors.Join(err, e.publish(report))
}

// Recover ends a change that an earlier process left open, and does nothing else. Run does it first, too.
func (e *Engine) Recover(ctx context.Context) error {
	j, err := e.open()
	if err != nil || j == nil {
		return err
	}
	_, err = e.recover(ctx, *j)
	return err
}

// pass is for a request, or for none.
func (e *Engine) pass(ctx context.Context, r *Request) (Report, error) {
	report := Report{}
	if r != nil {
		report.Attempt = r.Attempt
	}
	if j, err := e.open(); err != nil {
		report.Result = Broken
		return report, err
	} else if j != nil {
		if result, err := e.recover(ctx, *j); err != nil {
			report.Result, report.Source = result, j.Source
			return report, err
		}
	}
	s, err := e.load()
	if err != nil {
		return report, err
	}
	live, err := e.Backend.Live(ctx)
	if err != nil {
		return report, fmt.Errorf("read the host's network: %w", err)
	}
	source, content, err := e.choose(ctx, live)
	report.Source = source
	if err != nil {
		return report, err
	}
	if r != nil {
		if report.Result, err = requested(*r, s, source); err != nil {
			return report, err
		}
	} else if s.rejects(source) {
		return e.keep(ctx, s, live, report)
	}
	if source.SHA256 == "" {
		report.Result = Nothing
		return report, nil
	}
	settled, err := e.settle(ctx, s, live, entry{Source: source, Content: content, Request: r})
	settled.Attempt = report.Attempt
	return settled, err
}

// settle makes the network what a document wants, unless it is that already.
func (e *Engine) settle(ctx context.Context, s state, live livestate.State, j entry) (Report, error) {
	source, report := j.Source, Report{Source: j.Source}
	if s.Suspect == source.SHA256 && s.Interrupted >= e.Limits.Tries {
		return report, fmt.Errorf("the process died %d times in a row while it applied %s; it is not tried again until it changes", s.Interrupted, source)
	}
	var err error
	if j.Document, err = e.resolve(s, source, j.Content, live); err != nil {
		return report, err
	}
	change, err := e.change(source, j.Document)
	if err != nil {
		return report, err
	}
	if e.unchanged(s, source, change, live) {
		report.Result = Unchanged
		return report, nil
	}
	if j, err = e.prepare(ctx, change, j); err != nil {
		return report, err
	}
	report.Result, report.Differences, err = e.attempt(ctx, j, change)
	return report, err
}

// step says what is done next. Tests die here.
func (e *Engine) step(what string, args ...any) { e.Log.Debug(what, args...) }
