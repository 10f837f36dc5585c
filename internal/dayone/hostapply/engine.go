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

// Engine applies documents, one at a time. All fields except Automatic, Targets and Applied must be set.
type Engine struct {
	Backend Backend
	// Documents is the directory of documents, read at each run; see package placement.
	Documents fs.FS
	// Resolve parses a document, and resolves captures with the live state.
	Resolve func(name string, data []byte, live livestate.State) (*nmstate.Document, error)
	// Automatic generates the document of a host without one; nil disables automatic mode. It is retried for a while after the error
	// automatic.ErrNoUplink.
	Automatic func(live livestate.State) (*nmstate.Document, error)
	Prober    Prober
	// Targets are probed in addition to the gateways: those that answer before a change must answer after it.
	Targets []Target

	// Dir is the persistent directory of the journal and the state. Only one engine at a time may use it.
	Dir string
	// Report is the file of the last run's report.
	Report string
	// Applied is a marker file for other services: a copy of the document is written there after it was verified. Empty for none.
	Applied string
	// Boot is the ID of this boot (/proc/sys/kernel/random/boot_id).
	Boot string

	// Hostname returns the current name of the host.
	Hostname func() (string, error)
	Limits   Limits
	Now      func() time.Time
	// Wait sleeps for a duration, or returns the context's error. Tests shorten it.
	Wait func(context.Context, time.Duration) error
	Log  *slog.Logger
}

// Limits are the timeouts of a run. DefaultLimits returns the defaults.
type Limits struct {
	Name    time.Duration // for a host name that may choose a document
	Uplink  time.Duration // for a default route that automatic mode can use
	Apply   time.Duration
	Verify  time.Duration // after Apply, until all is as wanted and answers
	Restore time.Duration // one try of it
	Probe   time.Duration // of one target
	Poll    time.Duration // between two looks
	// Tries is the number of attempts to restore in a run, and the number of successive crashes during the application of a document after which
	// that document is no longer applied.
	Tries int
}

// DefaultLimits returns limits for servers: five minutes for the host name, for slow DHCP servers and reverse DNS; time for LACP, spanning tree and IPv6
// (60 s for a usable address); and four seconds for a probe, since the kernel sends three neighbor solicitations at intervals of a second.
func DefaultLimits() Limits {
	return Limits{
		Name: 5 * time.Minute, Uplink: time.Minute, Apply: 2 * time.Minute, Verify: 90 * time.Second, Restore: time.Minute,
		Probe: 4 * time.Second, Poll: time.Second / 2, Tries: 3,
	}
}

// total returns the maximum duration of a change from snapshot to commit, with a margin.
func (l Limits) total() time.Duration { return l.Apply + l.Verify + 10*time.Second }

// Result is the outcome of a run.
type Result string

// The results. After RolledBack the host has its previous state; after Broken the rollback failed, and the next run retries.
const (
	Applied    Result = "applied"
	Unchanged  Result = "unchanged" // the same content was applied, and is live
	Nothing    Result = "nothing"   // no document, and automatic mode is off or has nothing to do
	RolledBack Result = "rolled-back"
	Refused    Result = "refused" // before anything was changed
	Broken     Result = "broken"
)

// Run selects and applies the host's document. The error is nil only for Applied, Unchanged and Nothing, and for RolledBack if an earlier request for the
// document was rolled back and the host has its previous state. The report has every outcome.
func (e *Engine) Run(ctx context.Context) (Report, error) {
	return e.finishReport(e.reconcile(ctx, nil))
}

// finishReport completes and writes the report of a run.
func (e *Engine) finishReport(report Report, err error) (Report, error) {
	report.Time = e.Now()
	if err != nil {
		report.Message = err.Error()
		if report.Result == "" {
			report.Result = Refused
		}
	}
	return report, errors.Join(err, e.publish(report))
}

// Recover completes or undoes an interrupted change of an earlier process. Run starts with it, too.
func (e *Engine) Recover(ctx context.Context) error {
	j, err := e.open()
	if err != nil || j == nil {
		return err
	}
	_, err = e.recover(ctx, *j)
	return err
}

// reconcile applies the host's document for a request, or for nil at boot.
func (e *Engine) reconcile(ctx context.Context, r *Request) (Report, error) {
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
		return e.restorePrevious(ctx, s, live, report)
	}
	if source.SHA256 == "" {
		report.Result = Nothing
		return report, nil
	}
	settled, err := e.applyDocument(ctx, s, live, entry{Source: source, Content: content, Request: r})
	settled.Attempt = report.Attempt
	return settled, err
}

// applyDocument applies a document unless the network already matches it.
func (e *Engine) applyDocument(ctx context.Context, s state, live livestate.State, j entry) (Report, error) {
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

// step logs the next step. Tests stop the engine here.
func (e *Engine) step(what string, args ...any) { e.Log.Debug(what, args...) }
