// Package follow tells how the rollout of a network goes, for people who wait for it.
package follow

import (
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
)

// Every is how often the cluster is asked.
const Every = time.Second

// mostNames is how many nodes a line names.
const mostNames = 5

// ErrHung is wrapped by the error of a rollout that does not get further, ErrRefused by that of a specification that
// the operator does not apply.
var (
	ErrHung    = errors.New("the rollout hangs")
	ErrRefused = errors.New("the operator refuses the specification")
)

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
}

// Rollout follows until the network of a generation is applied and healthy. The error wraps ErrHung, ErrRefused or
// that of the context.
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
			return fmt.Errorf("wait for the rollout (%s): %w", f.said, ctx.Err())
		case <-tick.C:
		}
	}
}

// look asks once, and says what is new.
func (f *Follower) look(ctx context.Context, generation int64) (done bool, err error) {
	var network operatorv1.Network
	if err := f.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err != nil {
		return false, fmt.Errorf("read network: %w", err)
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
	case degraded.Status == osv1.ConditionTrue && degraded.Reason == "RolloutHung":
		return false, fmt.Errorf("%w: %s", ErrHung, degraded.Message)
	}
	record, err := f.record(ctx)
	if err != nil {
		return false, err
	}
	if record.Unfinished() || progressing.Status == osv1.ConditionTrue || conditions["Available"].Status != osv1.ConditionTrue {
		lines, err := f.workloads(ctx)
		if err != nil {
			return false, err
		}
		if len(lines) == 0 {
			lines = []string{progressing.Message}
		}
		return false, f.say(strings.Join(lines, "; "))
	}
	if degraded.Status == osv1.ConditionTrue {
		return true, f.say("applied; degraded: " + degraded.Message)
	}
	return true, f.say(fmt.Sprintf("applied and healthy: revision %d", record.Number))
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
		done := min(d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable)
		if done >= d.Status.DesiredNumberScheduled && d.Status.ObservedGeneration >= d.Generation {
			continue
		}
		slow, err := f.slow(ctx, d)
		if err != nil {
			return nil, err
		}
		line := fmt.Sprintf("%s: %d of %d nodes", d.Name, done, d.Status.DesiredNumberScheduled)
		if slow != "" {
			line += ", waiting for " + slow
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// slow names the nodes whose pod is not of the newest revision, or not ready.
func (f *Follower) slow(ctx context.Context, d *appsv1.DaemonSet) (string, error) {
	var pods corev1.PodList
	if err := f.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return "", fmt.Errorf("list pods: %w", err)
	}
	newest := fmt.Sprint(d.Generation)
	var names []string
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Labels["pod-template-generation"] != newest || !ready(p) {
			names = append(names, p.Spec.NodeName)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", "), nil
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
