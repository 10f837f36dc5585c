// Package rolloutwatch watches the rollout of a network and prints its progress.
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

// Every is the poll interval.
const Every = time.Second

// templateGeneration is the label of a DaemonSet's pods with the generation of their template.
const templateGeneration = "pod-template-generation"

// mostNames is the maximum number of nodes that a line names.
const mostNames = 5

// ErrStalled is wrapped by the error of a stalled rollout, ErrRefused by that of a specification that the operator does not
// apply, ErrTimeout by that of a rollout that does not finish in time.
var (
	ErrStalled = errors.New("the rollout is stalled")
	ErrRefused = errors.New("the operator refuses the specification")
	ErrTimeout = errors.New("the rollout did not finish in time")
)

// wayBack is the end of the errors of stalled rollouts.
const wayBack = ". To return to the last healthy revision: cno rollback"

// Watcher watches one rollout. All fields must be set.
type Watcher struct {
	Client client.Reader
	// Namespace is that of the operator.
	Namespace string
	// Out receives a line for each change.
	Out io.Writer
	// Now is the clock for the times of lines.
	Now func() time.Time

	began   time.Time
	printed string
	// cause is the cause in the conditions that prevents the rollout from finishing.
	cause string
}

// Rollout watches until the network of a generation is applied and its pods of the new revision are ready on all nodes. The
// error wraps ErrStalled, ErrRefused, ErrTimeout with the cause, or that of a context that was canceled.
func (w *Watcher) Rollout(ctx context.Context, generation int64) error {
	w.began = w.Now()
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		done, err := w.poll(ctx, generation)
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

// ended returns the error for a context that ended before the rollout.
func (w *Watcher) ended(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("wait for the rollout (%s): %w", w.printed, err)
	}
	cause := w.printed
	if w.cause != "" && w.cause != w.printed {
		cause = strings.Trim(cause+"; "+w.cause, "; ")
	}
	return fmt.Errorf("%w: %s%s", ErrTimeout, cause, wayBack)
}

// poll reads the state once and prints changes.
func (w *Watcher) poll(ctx context.Context, generation int64) (done bool, err error) {
	var network operatorv1.Network
	if err := w.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		return w.failed(ctx, "read network", err)
	}
	if network.Status.ObservedGeneration < generation {
		return false, w.print("waiting for the operator to see the change")
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
		return false, w.print(strings.Join(lines, "; "))
	}
	if degraded.Status == osv1.ConditionTrue {
		return true, w.print("applied; degraded: " + degraded.Message)
	}
	return true, w.print(fmt.Sprintf("applied and healthy: revision %d", record.Number))
}

// failed returns the error of a request; nil if the end of the context canceled it.
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

// workloads describes the progress of each unfinished DaemonSet.
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

// newestRevision reports whether a pod is of the newest revision. The generation of the template is not sufficient: after a
// rollback of the template, pods of the earlier revision are kept, which have the same hash and an older generation. A
// change of the updateStrategy also keeps the pods.
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

// print writes a line unless it equals the previous one.
func (w *Watcher) print(line string) error {
	if line == w.printed {
		return nil
	}
	w.printed = line
	_, err := fmt.Fprintf(w.Out, "%6.1fs  %s\n", w.Now().Sub(w.began).Seconds(), line)
	return err
}
