// Package rolloutwatch reports the progress of the rollout of a network to a person who waits for it.
package rolloutwatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Every is how often the cluster is asked.
const Every = time.Second

// templateGeneration is the label of a DaemonSet's pods that says which generation of the template they are of.
const templateGeneration = "pod-template-generation"

// mostNames is how many nodes a line names.
const mostNames = 5

// ErrStalled is wrapped by the error of a rollout that does not get further, ErrRefused by that of a specification that
// the operator does not apply, ErrTimeout by that of a rollout that takes longer than it is watched.
var (
	ErrStalled = errors.New("the rollout is stalled")
	ErrRefused = errors.New("the operator refuses the specification")
	ErrTimeout = errors.New("the rollout did not finish in time")
)

// wayBack ends the errors of rollouts that do not get further.
const wayBack = ". To return to the last healthy revision: cno rollback"

// Watcher watches one rollout. All fields must be set.
type Watcher struct {
	Client client.Reader
	// Namespace is the operator's.
	Namespace string
	// Out gets a line whenever something has changed.
	Out io.Writer
	// Now is the clock, for the time that each line begins with.
	Now func() time.Time

	began time.Time
	said  string
	// cause is what keeps the rollout from finishing, as the conditions say.
	cause string
}

// Rollout watches until the network of a generation is applied and its pods of the new revision are ready on all nodes. The
// error wraps ErrStalled, ErrRefused, ErrTimeout with the cause, or that of a context that was canceled.
func (w *Watcher) Rollout(ctx context.Context, generation int64) error {
	w.began = w.Now()
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		done, err := w.look(ctx, generation)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return w.ended(ctx.Err())
		case <-tick.C:
		}
	}
}

// ended is the error for a context that ended before the rollout did.
func (w *Watcher) ended(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("wait for the rollout (%s): %w", w.said, err)
	}
	cause := w.said
	if w.cause != "" && w.cause != w.said {
		cause = strings.Trim(cause+"; "+w.cause, "; ")
	}
	return fmt.Errorf("%w: %s%s", ErrTimeout, cause, wayBack)
}

// look asks once, and says what is new.
func (w *Watcher) look(ctx context.Context, generation int64) (done bool, err error) {
	var network operatorv1.Network
	if err := w.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		return w.failed(ctx, "read network", err)
	}
	if network.Status.ObservedGeneration < generation {
		return false, w.say("waiting for the operator to see the change")
	}
	conditions := map[string]osv1.OperatorCondition{}
	for _, c := range network.Status.Conditions {
		conditions[c.Type] = c
	}
	degraded, progressing := conditions["Degraded"], conditions["Progressing"]
	switch {
	case degraded.Status == osv1.ConditionTrue && strings.HasPrefix(degraded.Reason, "Invalid"):
		return false, fmt.Errorf("%w: %s", ErrRefused, degraded.Message)
	case degraded.Status == osv1.ConditionTrue && degraded.Reason == status.RolloutHung:
		return false, fmt.Errorf("%w: %s%s", ErrStalled, degraded.Message, wayBack)
	}
	w.cause = progressing.Message
	if degraded.Status == osv1.ConditionTrue {
		w.cause = degraded.Message
	}
	record, err := w.record(ctx)
	if err != nil {
		return w.failed(ctx, "read record", err)
	}
	lines, err := w.workloads(ctx)
	if err != nil {
		return w.failed(ctx, "read workloads", err)
	}
	settling := record.Settling && degraded.Status != osv1.ConditionTrue
	if len(lines) > 0 || record.Unfinished() || settling || progressing.Status == osv1.ConditionTrue || conditions["Available"].Status != osv1.ConditionTrue {
		if len(lines) == 0 {
			lines = []string{cmp.Or(progressing.Message, "waiting for the operator to confirm that all pods are ready")}
		}
		return false, w.say(strings.Join(lines, "; "))
	}
	if degraded.Status == osv1.ConditionTrue {
		return true, w.say("applied; degraded: " + degraded.Message)
	}
	return true, w.say(fmt.Sprintf("applied and healthy: revision %d", record.Number))
}

// failed is the error of a request; one that was cut off by the end of the context is no news.
func (w *Watcher) failed(ctx context.Context, what string, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, w.ended(ctx.Err())
	}
	return false, fmt.Errorf("%s: %w", what, err)
}

func (w *Watcher) record(ctx context.Context) (applied.Record, error) {
	var cm corev1.ConfigMap
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: applied.ConfigMapName}, &cm); err != nil {
		return applied.Record{State: applied.StateIntent}, client.IgnoreNotFound(err)
	}
	return applied.Decode(cm.Data)
}

// workloads says of each DaemonSet that is not done how many nodes are, and which are not.
func (w *Watcher) workloads(ctx context.Context) ([]string, error) {
	all, err := Progress(ctx, w.Client)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range all {
		if !p.Finished() {
			lines = append(lines, p.String())
		}
	}
	return lines, nil
}

// newestRevision returns whether a pod is of the newest revision. The generation of the template alone does not decide it:
// a template that returns to an earlier form keeps the pods of that form, whose hash is the same and whose generation is
// older. A DaemonSet whose pacing changes keeps its pods as well.
func newestRevision(d *appsv1.DaemonSet, pods []corev1.Pod) func(*corev1.Pod) bool {
	newest, known := d.Annotations[appsv1.DeprecatedTemplateGeneration]
	s := d.Status
	if !known || s.ObservedGeneration >= d.Generation && s.UpdatedNumberScheduled >= s.DesiredNumberScheduled {
		return func(*corev1.Pod) bool { return true }
	}
	hashes := map[string]bool{}
	for i := range pods {
		if l := pods[i].Labels; l[templateGeneration] == newest && l[appsv1.ControllerRevisionHashLabelKey] != "" {
			hashes[l[appsv1.ControllerRevisionHashLabelKey]] = true
		}
	}
	return func(p *corev1.Pod) bool {
		return p.Labels[templateGeneration] == newest || hashes[p.Labels[appsv1.ControllerRevisionHashLabelKey]]
	}
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// say writes a line that is not the one before.
func (w *Watcher) say(line string) error {
	if line == w.said {
		return nil
	}
	w.said = line
	_, err := fmt.Fprintf(w.Out, "%6.1fs  %s\n", w.Now().Sub(w.began).Seconds(), line)
	return err
}
