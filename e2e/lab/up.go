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

// ErrRunning is the error of Up when there is a lab already.
var ErrRunning = errors.New("a lab is running already: look at it with lab status, take it down with lab down")

// Up brings a lab up. What it needs must have been built. Every node, also one that
// is added later, gets the images in the given docker-archives, whose paths are
// absolute, beside the lab's own. When an action fails, the lab is left as it is then,
// for people to look at.
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
	if err := l.carryOut(ctx, plan.Up(t)); err != nil {
		return nil, err
	}
	l.record.Whole = true
	return l, l.save()
}

// actionTimeout is how long any one action may take: several times what a busy
// machine with two processors was seen to need.
const actionTimeout = 4 * time.Minute

// ActionError says which action of a plan failed and where to look.
type ActionError struct {
	Action plan.Action
	// Logs is the directory of logs that tell more.
	Logs string
	Err  error
}

func (e *ActionError) Error() string {
	return fmt.Sprintf("%s: %v\nthe lab is left as it is; logs are in %s", e.Action, e.Err, e.Logs)
}

func (e *ActionError) Unwrap() error { return e.Err }

func (l *Lab) carryOut(ctx context.Context, p plan.Plan) error {
	start := l.host.Now()
	for i, stage := range p {
		if err := l.carryOutStage(ctx, stage); err != nil {
			return err
		}
		elapsed := l.host.Now().Sub(start).Round(100 * time.Millisecond)
		fmt.Fprintf(l.host.Out, "[%d/%d] %s (%s)\n", i+1, len(p), stage, elapsed)
	}
	return nil
}

// carryOutStage does all actions of a stage at the same time, and prints those that take long.
func (l *Lab) carryOutStage(ctx context.Context, stage plan.Stage) error {
	var step activity.Step
	defer step.Watch(func(line string) { fmt.Fprintf(l.host.Out, "      %s\n", line) })()
	group, ctx := errgroup.WithContext(ctx)
	for _, a := range stage {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, actionTimeout)
			defer cancel()
			if err := step.Do(ctx, a.String(), func(ctx context.Context) error { return l.do(ctx, a) }); err != nil {
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

func (l *Lab) do(ctx context.Context, a plan.Action) error {
	if a.Node == "" {
		return l.doForAll(ctx, a.Verb)
	}
	n, err := l.record.Topology.Machine(a.Node)
	if err != nil {
		return err
	}
	switch a.Verb {
	case plan.MakeNode:
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
	return fmt.Errorf("do not know how to %s", a)
}

func (l *Lab) doForAll(ctx context.Context, v plan.Verb) error {
	switch v {
	case plan.MakeUnderlay:
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
	return fmt.Errorf("do not know how to %s", v)
}

// Lock keeps other commands from changing the lab until it is undone.
func Lock(ctx context.Context, h Host) (unlock func(), err error) {
	unlock, err = filelock.Acquire(ctx, h.Layout.Lock())
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("a lab takes root to run: %w", err)
	}
	return unlock, err
}
