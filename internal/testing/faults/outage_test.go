package faults_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/operator"
	"github.com/cluster-network-operator/cno/internal/testing/faults"
)

// lease is a quarter of the timing of the program: what is tested is the order of what happens, not how long it takes.
var lease = operator.LeaseTiming{Duration: 3 * time.Second, RenewDeadline: 2500 * time.Millisecond, RetryPeriod: 500 * time.Millisecond}

// withLease has an operator wait for the lease, as it does in a cluster.
func withLease(o *operator.Options) { o.WithoutLease, o.Lease = false, lease }

// all has every call fail in the same way.
func all(f faults.Fault) faults.Plan { return func(faults.Call) faults.Fault { return f } }

// restarted has an operator have the identity of its pod, as each process has that a kubelet starts again.
func restarted(o *operator.Options) { o.Identity = podName }

// podName is the name of the pod in which an operator is started again.
const podName = "network-operator-0"

// TestUnavailableAPIServerIsWaitedFor stops the API server of an operator for as long as several leases last. The operator
// exits when it cannot renew its lease and is restarted; meanwhile it sends few requests, reports nothing as Degraded that is not,
// and does at once what was asked for when the server is back.
func TestUnavailableAPIServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		how  faults.Fault
		long time.Duration
		// calls is how many may be made meanwhile: some thirty watches try again until the lease is lost, ever more seldom.
		calls int
	}{
		{"connection reset", faults.Reset, 2 * lease.Duration, 250},
		{"hangs", faults.Hang, 2 * lease.Duration, 250},
		{"refused for as long as ten leases", faults.Refused, 10 * lease.Duration, 150},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.create(newNetwork())
			line := faults.NewLine(nil)
			p := c.startAgain(line, withLease, restarted)
			c.finishes(p, "the network is installed")
			before := c.installed()
			line.Set(all(row.how))
			line.Cut()
			gone := len(line.Calls())
			c.edit(func(s *spec) { s.LogLevel = "Debug" })
			time.Sleep(row.long)
			calls := len(line.Calls()) - gone
			if t.Logf("%d calls in %s without an API server", calls, row.long); calls > row.calls {
				t.Errorf("%d calls in %s while nothing answers, and %d are enough", calls, row.long, row.calls)
			}
			if have := operands(c.installed()); len(have) != len(operands(before)) {
				t.Errorf("%d objects, and there were %d", len(have), len(before))
			}
			back := time.Now()
			line.Set(nil)
			c.eventually("what was asked for meanwhile is applied", func() string {
				if text := c.configMap(applied.ConfigMapName)[applied.KeyApplied]; !strings.Contains(text, `"logLevel":"Debug"`) {
					return text
				}
				return ""
			})
			t.Logf("%s after the API server was back it is applied", time.Since(back).Round(time.Millisecond))
			c.eventually("the status reports it", func() string {
				if degraded := c.condition("Degraded"); strings.HasPrefix(degraded, "True") {
					t.Errorf("Degraded: %s", degraded)
				}
				if n := c.network(); n.Status.ObservedGeneration != n.Generation {
					return "it is not"
				}
				return ""
			})
			t.Logf("%s after the API server was back", time.Since(back).Round(time.Millisecond))
			var held coordinationv1.Lease
			if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "network-operator-lock"}, &held); err != nil {
				t.Fatal(err)
			}
			if holder := *held.Spec.HolderIdentity; holder != podName {
				t.Errorf("the lease is held by %s: who is started again has to wait for it", holder)
			}
		})
	}
}

// TestWatchesThatEndMissNothing ends all watches while what they watch is changed.
func TestWatchesThatEndMissNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(newNetwork())
	want, p := c.undisturbed()
	for _, how := range []faults.Fault{faults.None, faults.Reset, faults.Error, faults.Gone} {
		gone := faults.EachOnce(how)
		p.line.Set(func(call faults.Call) faults.Fault {
			if call.Watch {
				return gone(call)
			}
			return faults.None
		})
		if p.line.Cut() == 0 {
			t.Fatal("there are no watches")
		}
		for _, o := range []metav1.ObjectMeta{{Namespace: "openshift-flannel", Name: "flanneld"}, {Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}} {
			if err := c.Client.Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: o}); err != nil {
				t.Fatal(err)
			}
		}
		c.reaches(p, want, "watches ended, and were answered: "+how.String())
	}
}

// TestRandomRequestFaults has a twentieth of all calls fail, a fifth be put off, and a twentieth get lost, with the
// same luck each time.
func TestRandomRequestFaults(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(newNetwork())
	want, p := c.undisturbed()
	c.stop(p)
	c.clear()
	c.create(newNetwork())
	random := rand.New(rand.NewPCG(1, 2))
	p = c.startAgain(faults.NewLine(func(faults.Call) faults.Fault {
		switch luck := random.IntN(100); {
		case luck < 5:
			return faults.Error
		case luck < 25:
			return faults.Busy
		case luck < 28:
			return faults.Reset
		case luck < 30:
			return faults.Lost
		}
		return faults.None
	}))
	c.reaches(p, want, "a little of everything")
	t.Logf("%d calls", len(p.line.Calls()))
}

// TestChangesWithoutARunningOperatorAreDetected changes and deletes objects while no operator runs.
func TestChangesWithoutARunningOperatorAreDetected(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(newNetwork())
	want, p := c.undisturbed()
	c.stop(p)
	key := metav1.ObjectMeta{Namespace: "openshift-kube-proxy", Name: "proxy-config"}
	if err := c.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: key}); err != nil {
		t.Fatal(err)
	}
	c.create(&corev1.ConfigMap{ObjectMeta: key, Data: map[string]string{"kube-proxy-config.yaml": "of another client"}})
	if err := c.Client.Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: "flanneld"}}); err != nil {
		t.Fatal(err)
	}
	p = c.start(faults.NewLine(nil))
	c.reaches(p, want, "what happened while no one worked")
}
