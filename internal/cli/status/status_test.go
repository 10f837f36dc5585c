package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	decided "github.com/cluster-network-operator/cno/internal/status"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is a cluster in memory: what is not set does not exist.
type world struct {
	found
	// served is true if the API server serves ClusterOperator; forbidden is true if everything but the network is.
	served, forbidden bool
	reads             int
	// change is called before each look.
	change func(*world)
}

func (w *world) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	missing := apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	if _, network := o.(*operatorv1.Network); network && w.change != nil {
		w.change(w)
	}
	w.reads++
	switch o := o.(type) {
	case *operatorv1.Network:
		if w.network == nil {
			return missing
		}
		w.network.DeepCopyInto(o)
	case *appsv1.Deployment:
		if w.forbidden {
			return apierrors.NewForbidden(schema.GroupResource{}, key.Name, errors.New("no"))
		}
		if w.operator == nil {
			return missing
		}
		w.operator.DeepCopyInto(o)
	case *coordinationv1.Lease:
		if w.forbidden {
			return apierrors.NewForbidden(schema.GroupResource{}, key.Name, errors.New("no"))
		}
		if w.lease == nil {
			return missing
		}
		w.lease.DeepCopyInto(o)
	case *corev1.ConfigMap:
		switch {
		case key.Name == decided.ConfigMapName && w.data != nil:
			o.Data = w.data
		case key.Name == applied.ConfigMapName && w.recorded != nil:
			snapshot, err := applied.NewSnapshot(w.recorded)
			o.Data = applied.Record{State: applied.StateApplied, Applied: snapshot, Number: 1}.Encode()
			return err
		case key.Name == facts.ConfigMapName && w.release != "":
			var err error
			o.Data, err = facts.Cluster{ReleaseVersion: w.release, APIServer: facts.HostPort{Host: "h", Port: 1}, Images: facts.Images{}}.Publish()
			return err
		default:
			return missing
		}
	case *configv1.ClusterOperator:
		if !w.served {
			return &meta.NoKindMatchError{}
		}
		if w.clusterOperator == nil {
			return missing
		}
		w.clusterOperator.DeepCopyInto(o)
	}
	return nil
}

func (w *world) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nothing is listed")
}

func condition(name, value, reason, message string) osv1.OperatorCondition {
	return osv1.OperatorCondition{Type: name, Status: osv1.ConditionStatus(value), Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now.Add(-5 * time.Minute))}
}

// healthyCluster is a healthy cluster, with changed conditions.
func healthyCluster(changed ...osv1.OperatorCondition) *world {
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}}
	n.Status.ObservedGeneration, n.Status.Version = 2, "v1"
	for _, name := range []string{"", "Flannel", "KubeProxy"} {
		for suffix, value := range map[string]string{"Available": "True", "Progressing": "False", "Degraded": "False"} {
			n.Status.Conditions = append(n.Status.Conditions, condition(name+suffix, value, decided.AsExpected, decided.Expected(name+suffix)))
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, condition("NodeMTUDegraded", "False", "AsExpected", ""), condition("Ready", "True", "AsExpected", ""))
	for _, c := range changed {
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == c.Type {
				n.Status.Conditions[i] = c
			}
		}
	}
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, LastTransitionTime: metav1.NewTime(now.Add(-3 * time.Hour))}}}}
	d.Namespace, d.Name = "ons", "network-operator"
	return &world{found: found{network: n, operator: d, lease: renewed(2 * time.Second), release: "v1", data: map[string]string{decided.KeyVersions: `{"Flannel":"v1","KubeProxy":"v1"}`}}}
}

// renewed is a lease that was renewed some time ago.
func renewed(ago time.Duration) *coordinationv1.Lease {
	at := metav1.NewMicroTime(now.Add(-ago))
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &at}}
}

func show(t *testing.T, w *world, o options) (string, int) {
	t.Helper()
	var out, errOut bytes.Buffer
	if o.form == "" {
		o.form = "text"
	}
	o.cluster.Namespace = "ons"
	err := run(t.Context(), w, o, printer{w: &out, form: o.form, now: func() time.Time { return now }})
	return out.String(), exit.Report(&errOut, "cno", err)
}

func TestTableShowsProblems(t *testing.T) {
	crash := `DaemonSet "openshift-flannel/flanneld" does not work on all nodes - pod p on node n is in CrashLoopBackOff State (container c ended with exit code 1)`
	for _, row := range []struct {
		why    string
		world  *world
		want   string
		status int
	}{
		{"all is well", healthyCluster(), `Network: Flannel, pods 10.244.0.0/16 (/24 a node), services 10.96.0.0/16
State:   healthy

NAME        AVAILABLE   PROGRESSING   DEGRADED   VERSION   SINCE   MESSAGE
operator    True        False         -          v1        3h
network     True        False         False      v1        5m
Flannel     True        False         False      v1        5m
KubeProxy   True        False         False      v1        5m
NodeMTU     -           -             False      -         5m
`, 0},
		{"a component crashes, and another controller reports a problem", func() *world {
			w := healthyCluster(condition("Degraded", "True", "CrashLoopBackOff", crash), condition("FlannelDegraded", "True", "CrashLoopBackOff", crash))
			data, _ := json.Marshal([]osv1.OperatorCondition{condition("ProxyConfigDegraded", "True", "InvalidProxyConfig", "a\nb")})
			w.data[decided.KeyControllers] = string(data)
			return w
		}(), `Network: Flannel, pods 10.244.0.0/16 (/24 a node), services 10.96.0.0/16
State:   degraded

NAME          AVAILABLE   PROGRESSING   DEGRADED   VERSION   SINCE   MESSAGE
operator      True        False         -          v1        3h
network       True        False         True       v1        5m      ` + crash + `
Flannel       True        False         True       v1        5m      ` + crash + `
KubeProxy     True        False         False      v1        5m
NodeMTU       -           -             False      -         5m
ProxyConfig   -           -             True       -         5m      a; b
`, 1},
		{"a starting network reports what it waits for", healthyCluster(condition("Available", "False", "Startup", "The network is starting up"), condition("Progressing", "True", "Deploying", "waits")), `Network: Flannel, pods 10.244.0.0/16 (/24 a node), services 10.96.0.0/16
State:   unavailable

NAME        AVAILABLE   PROGRESSING   DEGRADED   VERSION   SINCE   MESSAGE
operator    True        False         -          v1        3h
network     False       True          False      v1        5m      waits
Flannel     True        False         False      v1        5m
KubeProxy   True        False         False      v1        5m
NodeMTU     -           -             False      -         5m
`, 1},
		{"a note of a working component", healthyCluster(condition("FlannelAvailable", "True", "AsExpected", "NetworkPolicies are not enforced")), `Network: Flannel, pods 10.244.0.0/16 (/24 a node), services 10.96.0.0/16
State:   healthy

NAME        AVAILABLE   PROGRESSING   DEGRADED   VERSION   SINCE   MESSAGE
operator    True        False         -          v1        3h
network     True        False         False      v1        5m
Flannel     True        False         False      v1        5m      NetworkPolicies are not enforced
KubeProxy   True        False         False      v1        5m
NodeMTU     -           -             False      -         5m
`, 0},
		{"nothing is installed", &world{}, `Network: Network.operator.openshift.io/cluster does not exist

NAME       AVAILABLE   PROGRESSING   DEGRADED   VERSION   SINCE   MESSAGE
operator   False       -             -          -         -       Deployment ons/network-operator does not exist; conditions may be out of date
`, 1},
		{"OpenShift reports that there is no network", &world{served: true, found: found{clusterOperator: &configv1.ClusterOperator{Status: configv1.ClusterOperatorStatus{Conditions: []configv1.ClusterOperatorStatusCondition{
			{Type: "Degraded", Status: "True", Reason: "NoOperConfig", Message: "Failed to get networks.operator.openshift.io cluster"}}}}}}, `Network: Network.operator.openshift.io/cluster does not exist

NAME              AVAILABLE   PROGRESSING   DEGRADED   VERSION   SINCE   MESSAGE
operator          False       -             -          -         -       Deployment ons/network-operator does not exist; conditions may be out of date
clusteroperator   -           -             True       -         -       Failed to get networks.operator.openshift.io cluster
`, 1},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, status := show(t, row.world, options{})
			if diff := cmp.Diff(row.want, got); diff != "" || status != row.status {
				t.Errorf("exit status %d, want %d\n%s", status, row.status, diff)
			}
		})
	}
}

// TestOmittedFieldsHaveTheirAppliedValues: a specification may omit pools and the type.
func TestOmittedFieldsHaveTheirAppliedValues(t *testing.T) {
	w := healthyCluster()
	w.recorded, w.network.Spec = w.network.Spec.DeepCopy(), operatorv1.NetworkSpec{}
	out, _ := show(t, w, options{})
	if want := "Network: Flannel, pods 10.244.0.0/16 (/24 a node), services 10.96.0.0/16\n"; !strings.HasPrefix(out, want) {
		t.Errorf("%s\nwant %s", out, want)
	}
}

func TestExitStatusFollowsTheState(t *testing.T) {
	for _, row := range []struct {
		why    string
		world  *world
		status int
	}{
		{"a change that is rolled out", healthyCluster(condition("Progressing", "True", "Deploying", "m")), Changing},
		{"an operator that does not run, although all looks well", func() *world { w := healthyCluster(); w.operator.Status.AvailableReplicas = 0; return w }(), Unhealthy},
		{"a network that is down", healthyCluster(condition("Available", "False", "WorkloadDown", "m")), Unhealthy},
		{"missing conditions", &world{found: found{network: &operatorv1.Network{}}}, Unhealthy},
		{"a ConfigMap that cannot be read", func() *world { w := healthyCluster(); w.data[decided.KeyVersions] = "{"; return w }(), exit.Unusable},
	} {
		if _, status := show(t, row.world, options{}); status != row.status {
			t.Errorf("%s: exit status %d, want %d", row.why, status, row.status)
		}
	}
}

func TestJSONHasTheContentOfTheTable(t *testing.T) {
	out, _ := show(t, healthyCluster(), options{form: "json"})
	var v View
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	want := Component{Name: "Flannel", Available: "True", Progressing: "False", Degraded: "False", Version: "v1", Since: now.Add(-5 * time.Minute), Reason: ""}
	if diff := cmp.Diff(want, v.Components[2]); diff != "" || v.State != "healthy" || !v.Network.Ready {
		t.Errorf("state %s, ready %v; %s", v.State, v.Network.Ready, diff)
	}
	if out, _ := show(t, healthyCluster(), options{form: "yaml"}); !strings.HasPrefix(out, "---\ncomponents:\n") {
		t.Errorf("yaml: %s", out)
	}
}

func TestWatchPrintsWhatHasChangedAndEndsWithTheLastState(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := healthyCluster()
	looks := 0
	w.change = func(w *world) {
		switch looks++; looks {
		case 3: // the second look has found nothing new
			*w.network = *healthyCluster(condition("Progressing", "True", "Deploying", "moves")).network
		case 4:
			cancel()
		}
	}
	var out bytes.Buffer
	err := run(ctx, w, options{form: "text", watch: true}, printer{w: &out, form: "text", now: func() time.Time { return now }})
	if n := strings.Count(out.String(), "NAME"); n != 2 || !strings.Contains(out.String(), "moves") {
		t.Errorf("printed %d times:\n%s", n, out.String())
	}
	if code, is := errors.AsType[*exit.Code](err); !is || code.Status != Changing {
		t.Errorf("ended with %v", err)
	}
}

func TestWaitEndsWhenTheNetworkIsHealthyOrTheTimeoutExpires(t *testing.T) {
	moving := condition("Progressing", "True", "Deploying", "1 of 3")
	for _, row := range []struct {
		why string
		// healthyAt is the observation that finds a healthy network, 0 for none.
		healthyAt, status, printed int
		message                    string
	}{
		{"healthy at once", 1, 0, 1, ""},
		{"healthy after a rollout", 4, 0, 2, ""},
		{"a rollout that does not end", 0, Changing, 1, "the network is progressing after 1m0s; cno doctor lists problems"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, looks := healthyCluster(moving), 0
			w.change = func(w *world) {
				if looks++; looks == row.healthyAt {
					*w.network = *healthyCluster().network
				}
			}
			var out, errOut bytes.Buffer
			o := options{form: "text", wait: true, timeout: time.Minute}
			err := run(t.Context(), w, o, printer{w: &out, form: "text", now: func() time.Time { return now }})
			if status := exit.Report(&errOut, "cno", err); status != row.status || !strings.Contains(errOut.String(), row.message) {
				t.Errorf("%s: exit status %d, %s", row.why, status, &errOut)
			}
			if n := strings.Count(out.String(), "NAME"); n != row.printed {
				t.Errorf("%s: printed %d times:\n%s", row.why, n, &out)
			}
		})
	}
}

func TestColoursMarkRowsAndChangeNothingElse(t *testing.T) {
	v, err := view(healthyCluster(condition("FlannelDegraded", "True", "R", "m"), condition("KubeProxyProgressing", "True", "R", "m")).found, now)
	if err != nil {
		t.Fatal(err)
	}
	var plainText, text strings.Builder
	if err := errors.Join(v.Print(&plainText, now, false), v.Print(&text, now, true)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), red+"Flannel ") || !strings.Contains(text.String(), yellow+"KubeProxy ") || !strings.Contains(text.String(), green+"healthy") {
		t.Errorf("%q", text.String())
	}
	for _, code := range []string{red, yellow, green, plain} {
		text2 := strings.ReplaceAll(text.String(), code, "")
		text.Reset()
		text.WriteString(text2)
	}
	if diff := cmp.Diff(plainText.String(), text.String()); diff != "" {
		t.Error(diff)
	}
}

// Conditions that the operator no longer updates may be outdated.
func TestTheStateIsUnknownWhileTheOperatorCannotBeObserved(t *testing.T) {
	with := func(change func(*world)) *world {
		w := healthyCluster()
		change(w)
		return w
	}
	none := int32(0)
	for _, row := range []struct {
		why, message string
		since        time.Duration
		world        *world
	}{
		{"the lease was not renewed", "Lease ons/network-operator-lock was last renewed at 2026-01-02T11:58:59Z", 61 * time.Second, with(func(w *world) { w.lease = renewed(61 * time.Second) })},
		{"there is no lease", "no replica of the operator holds Lease ons/network-operator-lock", 0, with(func(w *world) { w.lease = nil })},
		{"no pod is available", "Deployment ons/network-operator has no available pod", 5 * time.Second, with(func(w *world) { w.lease, w.operator.Status.AvailableReplicas = renewed(5*time.Second), 0 })},
		{"it is scaled to 0", "kubectl -n ons scale deployment network-operator --replicas=1", time.Minute, with(func(w *world) { w.lease, w.operator.Spec.Replicas = renewed(time.Minute), &none })},
		{"it is not installed", "Deployment ons/network-operator does not exist", 0, with(func(w *world) { w.lease, w.operator = nil, nil })},
		{"the user has no permission", "no permission to read Deployment ons/network-operator, Lease ons/network-operator-lock", 0, with(func(w *world) { w.forbidden = true })},
	} {
		t.Run(row.why, func(t *testing.T) {
			out, status := show(t, row.world, options{})
			if first := strings.SplitN(out, "\n", 3)[1]; !strings.HasPrefix(first, "State:   unknown (") || !strings.Contains(first, row.message) || status != Unhealthy {
				t.Errorf("exit status %d:\n%s", status, out)
			}
			out, _ = show(t, row.world, options{form: "json"})
			var v View
			if err := json.Unmarshal([]byte(out), &v); err != nil {
				t.Fatal(err)
			}
			if v.State != unknown || v.Network.Ready || !strings.Contains(v.Why, row.message) {
				t.Errorf("state %s, ready %v, because %q", v.State, v.Network.Ready, v.Why)
			}
			if since := v.Components[0].Since; row.since != 0 && !since.Equal(now.Add(-row.since)) || row.since == 0 && !since.IsZero() {
				t.Errorf("since %s, want %s ago", since, row.since)
			}
		})
	}
}

func TestALeaseThatIsRenewedMakesTheStateKnown(t *testing.T) {
	w := healthyCluster()
	w.lease = renewed(time.Minute)
	if out, status := show(t, w, options{}); !strings.Contains(out, "State:   healthy\n") || status != 0 {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}

func TestAPauseIsShownAndAnAnnotationWithoutEffectToo(t *testing.T) {
	w := healthyCluster()
	w.network.Annotations = map[string]string{pipeline.PausedAnnotation: "true", pipeline.PausedByAnnotation: "eve", pipeline.PausedAtAnnotation: "2026-01-02T11:00:00Z", pipeline.PausedReasonAnnotation: "switches"}
	if out, _ := show(t, w, options{}); !strings.Contains(out, "State:   healthy\nPaused:  yes by eve since 2026-01-02T11:00:00Z: switches. Nothing is changed or repaired until: cno resume\n\n") {
		t.Error(out)
	}
	out, _ := show(t, w, options{form: "json"})
	var v View
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Paused == nil || *v.Paused != (Pause{By: "eve", Since: "2026-01-02T11:00:00Z", Reason: "switches"}) {
		t.Errorf("%v: %s", err, out)
	}
	w.network.Annotations = map[string]string{pipeline.PausedAnnotation: "yes"}
	if out, _ := show(t, w, options{}); strings.Contains(out, "Paused:") || !strings.Contains(out, `Warning: the annotation networkoperator.openshift.io/paused is "yes" and has no effect`) {
		t.Error(out)
	}
}
