package top

import (
	"context"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// source is a cluster in memory, in which a rollout is half done, and one of two nodes does not answer.
func source(t *testing.T) page.Source {
	t.Helper()
	scheme, err := objects.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	set := objects.NewSet(scheme)
	since := metav1.NewTime(now.Add(-time.Minute))
	network := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/22", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"}}}
	network.Spec.DefaultNetwork.Type = operatorv1.NetworkTypeFlannel
	for kind, value := range map[string]osv1.ConditionStatus{"Available": "True", "Progressing": "True", "Degraded": "False"} {
		network.Status.Conditions = append(network.Status.Conditions, osv1.OperatorCondition{Type: kind, Status: value, LastTransitionTime: since})
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ons", Name: "network-operator"}, Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}}
	renewed := metav1.NewMicroTime(now)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ons", Name: status.LeaseName}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	agents := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "agent", Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 1, NumberAvailable: 1}}
	all := []client.Object{network, deployment, lease, agents}
	for name, ready := range map[string]corev1.ConditionStatus{"a": "True", "b": "False"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: []string{map[string]string{"a": "10.244.0.0/24", "b": "10.244.1.0/24"}[name]}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: "Down", Message: "no power"}}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "agent-" + name, Labels: map[string]string{"app": "agent"}}, Spec: corev1.PodSpec{NodeName: name, HostNetwork: true}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		all = append(all, n, p)
	}
	check := &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{ObjectMeta: metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: connectivity.SourceName + "-a-to-" + connectivity.TargetName + "-b"}}
	check.Status.Conditions = []operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{{Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionFalse, Reason: "TCPConnectError", Message: "i/o timeout", LastTransitionTime: since}}
	for _, o := range append(all, check) {
		if err := set.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return page.Source{Objects: set, Namespace: "ons", Now: func() time.Time { return now }, Missing: []string{"no permission to list pods"}}
}

func TestScreenShowsProblems(t *testing.T) {
	var out strings.Builder
	if err := (&options{form: output.Text}).once(t.Context(), &out, source(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"State:   progressing\n", "\nRollout: 50 % of the pods are up to date, about 60s left\n  [###############...............] agent: 1 of 2 nodes, waiting for b\n",
		"\nNodes: 2 (1 not-ready, 1 ready)\n  b: not-ready: Down: no power\n", "Pool:  [###############...............] 10.244.0.0/22, 2 of 4 blocks of /24 in use\n",
		"Paths: 0 of 1 connectivity checks reach their target\n  a -> b: fails for 60s: i/o timeout\n", "\nincomplete: no permission to list pods\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a file gets the sequences of a terminal: %q", out.String())
	}
}

// writes counts screens.
type writes chan string

func (w writes) Write(p []byte) (int, error) { w <- string(p); return len(p), nil }

func TestAChangeDrawsTheScreenOnceAndTheTerminalIsLeftAsItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	changed, out, ended := make(chan struct{}, 1), make(writes, 10), make(chan error, 1)
	go func() { ended <- redraw(ctx, out, source(t), changed) }()
	next := func(what string) string {
		var text string
		eventually.Holds(t, what, func() (string, bool) {
			select {
			case text = <-out:
				return text, true
			default:
				return "nothing was written", false
			}
		})
		return text
	}
	if text := next("the alternate screen"); text != enter {
		t.Errorf("it begins with %q", text)
	}
	first := next("the first screen")
	changed <- struct{}{}
	if second := next("the screen after a change"); second != first || !strings.HasPrefix(second, home) {
		t.Errorf("one write is one screen from the top left corner: %q", second)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	last := ""
	for len(out) > 0 {
		last = <-out
	}
	if last != leave {
		t.Errorf("it ends with %q", last)
	}
}
