// Package follow reports how the rollout of a network goes, for people who wait for it.
package follow

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
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Every is how often the cluster is asked.
const Every = time.Second

// templateGeneration is the label of a DaemonSet's pods that says which generation of the template they are of.
const templateGeneration = "pod-template-generation"

// mostNames is how many nodes a line names.
const mostNames = 5

// ErrHung is wrapped by the error of a rollout that does not get further, ErrRefused by that of a specification that
// the operator does not apply, ErrTimeout by that of a rollout that takes longer than it is followed.
var (
	ErrHung    = errors.New("the rollout is stalled")
	ErrRefused = errors.New("the operator refuses the specification")
	ErrTimeout = errors.New("the rollout did not finish in time")
)

// wayBack ends the errors of rollouts that do not get further.
const wayBack = ". To return to the last healthy revision: cno rollback"

// Follower follows one rollout. All fields must be set.
type Follower struct {
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

// Rollout follows until the network of a generation is applied and its pods of the new revision are ready on all nodes. The
// error wraps ErrHung, ErrRefused, ErrTimeout with the cause, or that of a context that was canceled.
func (f *Follower) Rollout(ctx context.Context, generation int64) error {
	f.began = f.Now()
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		done, err := f.look(ctx, generation)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return f.ended(ctx.Err())
		case <-tick.C:
		}
	}
}

// ended is the error for a context that ended before the rollout did.
func (f *Follower) ended(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("wait for the rollout (%s): %w", f.said, err)
	}
	cause := f.said
	if f.cause != "" && f.cause != f.said {
		cause = strings.Trim(cause+"; "+f.cause, "; ")
	}
	return fmt.Errorf("%w: %s%s", ErrTimeout, cause, wayBack)
}

// look asks once, and says what is new.
func (f *Follower) look(ctx context.Context, generation int64) (done bool, err error) {
	var network operatorv1.Network
	if err := f.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		return f.failed(ctx, "read network", err)
	}
	if network.Status.ObservedGeneration < generation {
		return false, f.say("waiting for the operator to see the change")
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
		return false, fmt.Errorf("%w: %s%s", ErrHung, degraded.Message, wayBack)
	}
	f.cause = progressing.Message
	if degraded.Status == osv1.ConditionTrue {
		f.cause = degraded.Message
	}
	record, err := f.record(ctx)
	if err != nil {
		return f.failed(ctx, "read record", err)
	}
	lines, err := f.workloads(ctx)
	if err != nil {
		return f.failed(ctx, "read workloads", err)
	}
	settling := record.Settling && degraded.Status != osv1.ConditionTrue
	if len(lines) > 0 || record.Unfinished() || settling || progressing.Status == osv1.ConditionTrue || conditions["Available"].Status != osv1.ConditionTrue {
		if len(lines) == 0 {
			lines = []string{cmp.Or(progressing.Message, "waiting for the operator to confirm that all pods are ready")}
		}
		return false, f.say(strings.Join(lines, "; "))
	}
	if degraded.Status == osv1.ConditionTrue {
		return true, f.say("applied; degraded: " + degraded.Message)
	}
	return true, f.say(fmt.Sprintf("applied and healthy: revision %d", record.Number))
}

// failed is the error of a request; one that was cut off by the end of the context is no news.
func (f *Follower) failed(ctx context.Context, what string, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, f.ended(ctx.Err())
	}
	return false, fmt.Errorf("%s: %w", what, err)
}

func (f *Follower) record(ctx context.Context) (applied.Record, error) {
	var cm corev1.ConfigMap
	if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: applied.ConfigMapName}, &cm); err != nil {
		return applied.Record{State: applied.StateIntent}, client.IgnoreNotFound(err)
	}
	return applied.Decode(cm.Data)
}

// workloads says of each DaemonSet that is not done how many nodes are, and which are not.
func (f *Follower) workloads(ctx context.Context) ([]string, error) {
	var sets appsv1.DaemonSetList
	if err := f.Client.List(ctx, &sets, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
		return nil, fmt.Errorf("list DaemonSets: %w", err)
	}
	var lines []string
	for i := range sets.Items {
		d := &sets.Items[i]
		slow, ready, err := f.slow(ctx, d)
		if err != nil {
			return nil, err
		}
		done := min(ready, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable)
		if done >= d.Status.DesiredNumberScheduled && d.Status.ObservedGeneration >= d.Generation {
			continue
		}
		line := fmt.Sprintf("%s: %d of %d nodes", d.Name, done, d.Status.DesiredNumberScheduled)
		if slow != "" {
			line += ", waiting for " + slow
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// slow names the nodes whose pod is not of the newest revision, or not ready, and counts those whose pod is both.
func (f *Follower) slow(ctx context.Context, d *appsv1.DaemonSet) (string, int32, error) {
	var pods corev1.PodList
	if err := f.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return "", 0, fmt.Errorf("list pods: %w", err)
	}
	newest := newestRevision(d, pods.Items)
	var names []string
	var done int32
	for i := range pods.Items {
		if p := &pods.Items[i]; newest(p) && ready(p) {
			done++
		} else {
			names = append(names, p.Spec.NodeName)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", "), done, nil
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
func (f *Follower) say(line string) error {
	if line == f.said {
		return nil
	}
	f.said = line
	_, err := fmt.Fprintf(f.Out, "%6.1fs  %s\n", f.Now().Sub(f.began).Seconds(), line)
	return err
}
