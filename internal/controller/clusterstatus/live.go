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
	// suspicious is how long a pod may be missing or not ready before events are asked why.
	suspicious = 5 * time.Second
	// asked is about how many pods of a workload events are asked.
	asked = 3
)

// gather reads everything that is decided on, but for the findings of other controllers. again is after how long events may say more.
func (c *Controller) gather(ctx context.Context, network *operatorv1.Network, rollout report.Rollout) (in status.Input, again time.Duration, err error) {
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
			again = fresh
		}
		in.Live = append(in.Live, l.Live)
		if len(c.outdated) > 0 {
			in.Findings = append(in.Findings, addressFinding(w, c.outdated))
			c.outdated = nil
		}
	}
	return in, again, nil
}

// look is a workload, and whether events may say more about it later.
type look struct {
	status.Live
	failing bool
}

// read reads a workload.
func (c *Controller) read(ctx context.Context, w status.Workload) (l look, exists bool, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
	if err := c.Operands.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, u); err != nil {
		return look{}, false, client.IgnoreNotFound(err)
	}
	if w.Kind == "DaemonSet" {
		var d appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			return look{}, false, err
		}
		pods, failing, err := c.pods(ctx, d.Namespace, d.Spec.Selector, d.Status.DesiredNumberScheduled)
		if err != nil {
			return look{}, false, err
		}
		l = look{status.OfDaemonSet(&d, pods), failing}
		if err := c.refused(ctx, d.UID, &l); err != nil {
			return look{}, false, err
		}
	} else {
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
			return look{}, false, err
		}
		pods, failing, err := c.pods(ctx, d.Namespace, d.Spec.Selector, d.Status.Replicas)
		if err != nil {
			return look{}, false, err
		}
		l = look{status.OfDeployment(&d, pods), failing}
	}
	l.Workload = w
	return l, true, nil
}

// refused notes why pods of a DaemonSet cannot be made, if some are missing. Only events tell.
func (c *Controller) refused(ctx context.Context, uid types.UID, l *look) error {
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

// pods reads the pods that a selector finds; a missing one finds none. failing is true if one of them does not work and
// events may say why. expected is about how many there are.
func (c *Controller) pods(ctx context.Context, namespace string, selector *metav1.LabelSelector, expected int32) (pods []status.Pod, failing bool, err error) {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || selector == nil {
		matching = labels.Nothing()
	}
	pods = make([]status.Pod, 0, expected)
	uids := make([]types.UID, 0, expected)
	if err := c.Pods(ctx, namespace, matching, func(p *corev1.Pod) {
		pods, uids = append(pods, status.OfPod(p, c.nodes.gone[p.Spec.NodeName])), append(uids, p.UID)
		if o, is := c.nodes.outdatedAddress(p); is {
			c.outdated = append(c.outdated, o)
		}
	}); err != nil {
		return nil, false, err
	}
	ill := 0
	for i := range pods {
		pod := &pods[i]
		if pod.Trouble != status.NotReady || pod.NodeGone {
			continue
		}
		if ill++; ill > asked {
			break
		}
		failing = true
		if c.Now().Sub(pod.Since) > suspicious && strings.HasPrefix(pod.Detail, "containers with unready status") {
			why, err := c.causes.why(ctx, namespace, uids[i], eventUnhealthy, pod.Since)
			if err != nil {
				return nil, false, err
			}
			pod.Detail = orElse(why, pod.Detail)
		}
	}
	return pods, failing, nil
}

// orElse returns the first line of a text, or another text if it is empty.
func orElse(text, other string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return other
	}
	return line
}
