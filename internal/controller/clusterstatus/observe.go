package clusterstatus

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// eventsAfter is how long a pod may be missing or not ready before its events are read.
	eventsAfter = 5 * time.Second
	// maxPodsWithEvents is the maximum number of pods of a workload whose events are read.
	maxPodsWithEvents = 3
)

// observe reads the input of a decision, except the findings of other controllers. requeueAfter is the time until new events may be
// available.
func (c *Controller) observe(ctx context.Context, network *operatorv1.Network, rollout report.Rollout) (in status.Input, requeueAfter time.Duration, err error) {
	in = status.Input{
		Now: c.Now(), Version: c.Version, Absent: network == nil, PreviousControllers: c.memory.controllers, Memory: c.memory.of,
		Components: rollout.Components, Wanted: rollout.Wanted, Applied: rollout.Applied,
	}
	if network != nil {
		in.Previous = network.Status.Conditions
		if c.last.uid == network.UID {
			in.Previous = c.last.conditions
		}
	}
	if err := c.nodes.read(ctx, c.Nodes); err != nil {
		return in, 0, err
	}
	in.Nodes = c.nodes.all
	c.outdated = nil
	for _, w := range rollout.Wanted {
		l, exists, err := c.read(ctx, w)
		if err != nil {
			return in, 0, fmt.Errorf("read %s: %w", w, err)
		}
		if !exists {
			continue
		}
		if l.failing {
			requeueAfter = answerTTL
		}
		in.Live = append(in.Live, l.Live)
		if len(c.outdated) > 0 {
			in.Findings = append(in.Findings, addressFinding(w, c.outdated))
			c.outdated = nil
		}
	}
	return in, requeueAfter, nil
}

// workload is the state of a workload. failing is true if later events may explain a failure.
type workload struct {
	status.Live
	failing bool
}

// read reads a workload.
func (c *Controller) read(ctx context.Context, w status.Workload) (l workload, exists bool, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
	if err := c.Operands.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, u); err != nil {
		return workload{}, false, client.IgnoreNotFound(err)
	}
	if w.Kind == "DaemonSet" {
		var d appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			return workload{}, false, err
		}
		pods, failing, err := c.pods(ctx, d.Namespace, d.Spec.Selector, d.Status.DesiredNumberScheduled)
		if err != nil {
			return workload{}, false, err
		}
		l = workload{status.OfDaemonSet(&d, pods), failing}
		if err := c.setRejection(ctx, d.UID, &l); err != nil {
			return workload{}, false, err
		}
	} else {
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			return workload{}, false, err
		}
		pods, failing, err := c.pods(ctx, d.Namespace, d.Spec.Selector, d.Status.Replicas)
		if err != nil {
			return workload{}, false, err
		}
		l = workload{status.OfDeployment(&d, pods), failing}
	}
	l.Workload = w
	return l, true, nil
}

// setRejection sets the reason why pods of a DaemonSet cannot be created, from events.
func (c *Controller) setRejection(ctx context.Context, uid types.UID, l *workload) error {
	if l.Generation != l.Observed || l.Current >= l.Desired {
		return nil
	}
	l.failing = true
	why, err := c.causes.why(ctx, l.Namespace, uid, eventRefused, l.Changed)
	if err != nil {
		return err
	}
	l.Refused = strings.TrimPrefix(why, "Error creating: ")
	return nil
}

// pods returns the selected pods; a nil selector selects none. failing is true if a pod is not ready and events may explain that. expected
// is the approximate number of pods.
func (c *Controller) pods(ctx context.Context, namespace string, selector *metav1.LabelSelector, expected int32) (pods []status.Pod, failing bool, err error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || selector == nil {
		matching = labels.Nothing()
	}
	pods = make([]status.Pod, 0, expected)
	uids := make([]types.UID, 0, expected)
	if err := c.Pods(ctx, namespace, matching, func(p *corev1.Pod) {
		pods, uids = append(pods, status.OfPod(p, c.nodes.gone[p.Spec.NodeName])), append(uids, p.UID)
		if o, ok := c.nodes.outdatedAddress(p); ok {
			c.outdated = append(c.outdated, o)
		}
	}); err != nil {
		return nil, false, err
	}
	notReady := 0
	for i := range pods {
		pod := &pods[i]
		if pod.Problem != status.NotReady || pod.NodeUnreachable {
			continue
		}
		if notReady++; notReady > maxPodsWithEvents {
			break
		}
		failing = true
		if c.Now().Sub(pod.Since) > eventsAfter && strings.HasPrefix(pod.Detail, "containers with unready status") {
			why, err := c.causes.why(ctx, namespace, uids[i], eventUnhealthy, pod.Since)
			if err != nil {
				return nil, false, err
			}
			pod.Detail = orElse(why, pod.Detail)
		}
	}
	return pods, failing, nil
}

// orElse returns the first line of a text, or other if it is empty.
func orElse(text, other string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return other
	}
	return line
}
