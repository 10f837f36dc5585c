package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/e2e/lab/activity"
	"github.com/cluster-network-operator/cno/e2e/lab/filelock"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/plan"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// ErrRunning is the error of Up if a lab exists already.
var ErrRunning = errors.New("a lab is running already: see lab status, or remove it with lab down")

// Up brings a lab up. Its components and images must have been built. Every node,
// also one that is added later, gets the images of the given docker-archives, whose
// paths are absolute, in addition to the lab's own. If an action fails, Up keeps
// the incomplete lab for debugging.
func Up(ctx context.Context, h Host, t topology.Topology, images []string) (*Lab, error) {
	if _, err := Open(h); !errors.Is(err, ErrNone) {
		return nil, errors.Join(ErrRunning, err)
	}
	if err := raiseLimit(inotifyFile, inotifyInstances); err != nil {
		return nil, fmt.Errorf("raise the limit of inotify instances: %w", err)
	}
	l := &Lab{host: h, record: Record{Topology: t, Images: images, State: h.Layout.State()}}
	if err := l.save(); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(h.Layout.Logs()); err != nil {
		return nil, fmt.Errorf("remove the logs of an earlier lab: %w", err)
	}
	cluster, err := pki.NewCluster(h.Now())
	if err != nil {
		return nil, err
	}
	if err := saveCluster(h.Layout.PKI(), cluster); err != nil {
		return nil, err
	}
	if err := l.execute(ctx, plan.Up(t)); err != nil {
		return nil, err
	}
	l.record.Whole = true
	return l, l.save()
}

// actionTimeout is the time limit of an action: several times the longest observed
// on a busy machine with two processors.
const actionTimeout = 4 * time.Minute

// ActionError is the error of an action of a plan.
type ActionError struct {
	Action plan.Action
	// Logs is the directory of the related logs.
	Logs string
	Err  error
}

func (e *ActionError) Error() string {
	return fmt.Sprintf("%s: %v\nthe lab is kept for debugging; logs are in %s", e.Action, e.Err, e.Logs)
}

func (e *ActionError) Unwrap() error { return e.Err }

func (l *Lab) execute(ctx context.Context, p plan.Plan) error {
	start := l.host.Now()
	for i, stage := range p {
		if err := l.executeStage(ctx, stage); err != nil {
			return err
		}
		elapsed := l.host.Now().Sub(start).Round(100 * time.Millisecond)
		fmt.Fprintf(l.host.Out, "[%d/%d] %s (%s)\n", i+1, len(p), stage, elapsed)
	}
	return nil
}

// executeStage runs all actions of a stage concurrently, and prints those that take long.
func (l *Lab) executeStage(ctx context.Context, stage plan.Stage) error {
	var step activity.Step
	defer step.Watch(func(line string) { fmt.Fprintf(l.host.Out, "      %s\n", line) })()
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range stage {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, actionTimeout)
			defer cancel()
			if err := step.Do(ctx, a.String(), func(ctx context.Context) error { return l.run(ctx, a) }); err != nil {
				return &ActionError{Action: a, Logs: l.actionLogs(a), Err: err}
			}
			return nil
		})
	}
	return group.Wait()
}

func (l *Lab) actionLogs(a plan.Action) string {
	if a.Node == "" {
		return l.host.Layout.Logs()
	}
	return l.logDir(a.Node)
}

func (l *Lab) run(ctx context.Context, a plan.Action) error {
	if a.Node == "" {
		return l.runForCluster(ctx, a.Verb)
	}
	n, err := l.record.Topology.Machine(a.Node)
	if err != nil {
		return err
	}
	switch a.Verb {
	case plan.CreateNode:
		return l.makeNode(ctx, n)
	case plan.Start:
		return l.startUnit(ctx, n, a.Unit)
	case plan.LoadImages:
		return l.loadDefaultImages(ctx, n)
	case plan.AwaitAPI:
		return l.awaitAPI(ctx, n)
	case plan.AwaitNode:
		return l.awaitNode(ctx, n)
	}
	return fmt.Errorf("unknown action %s", a)
}

func (l *Lab) runForCluster(ctx context.Context, v plan.Verb) error {
	switch v {
	case plan.CreateUnderlay:
		return l.makeUnderlay()
	case plan.AwaitCluster:
		return l.awaitCluster(ctx)
	case plan.ApplyAddons:
		return l.applyAddons(ctx)
	case plan.ApplyOpenShift:
		return l.applyOpenShift(ctx)
	case plan.AwaitAccounts:
		return l.awaitAccounts(ctx)
	}
	return fmt.Errorf("unknown action %s", v)
}

// Lock prevents other commands from changing the lab until unlock is called.
func Lock(ctx context.Context, h Host) (unlock func(), err error) {
	unlock, err = filelock.Acquire(ctx, h.Layout.Lock())
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("a lab must be run as root: %w", err)
	}
	return unlock, err
}
