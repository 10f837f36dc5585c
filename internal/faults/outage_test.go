package faults_test

import (
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/faults"
	"github.com/cluster-network-operator/cno/internal/operator"
)

// withLease has an operator wait for the lease, as it does in a cluster.
func withLease(o *operator.Options) { o.WithoutLease = false }

// all has every call fail in the same way.
func all(f faults.Fault) faults.Plan { return func(faults.Call) faults.Fault { return f } }

// outage is how long an API server is gone: longer than a lease lasts.
const outage = 20 * time.Second

// TestAPIServerThatIsGoneIsWaitedFor takes the API server away from an operator, which ends when it cannot renew its lease
// and is started again, and looks whether it does what was asked for meanwhile.
func TestAPIServerThatIsGoneIsWaitedFor(t *testing.T) {
	for _, how := range []faults.Fault{faults.Reset, faults.Hang} {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.create(newNetwork())
			line := faults.NewLine(nil)
			p := c.startAgain(line, withLease)
			c.eventually("the network is installed", func() string {
				if !c.done(p) {
					return "it is not"
				}
				return ""
			})
			before := c.installed()
			line.Set(all(how))
			line.Cut()
			gone := len(line.Calls())
			c.edit(func(s *spec) { s.LogLevel = "Debug" })
			time.Sleep(outage)
			calls := len(line.Calls()) - gone
			t.Logf("%d calls in %s without an API server", calls, outage)
			if perSecond := float64(calls) / outage.Seconds(); perSecond > 60 { // some thirty watches, each of which waits longer and longer
				t.Errorf("%.0f calls a second while nothing answers", perSecond)
			}
			if have := operands(c.installed()); len(have) != len(operands(before)) {
				t.Errorf("%d objects, and there were %d", len(have), len(before))
			}
			back := time.Now()
			line.Set(nil)
			c.eventually("what was asked for meanwhile is done", func() string {
				if n := c.network(); n.Status.ObservedGeneration != n.Generation {
					return "it is not"
				}
				return ""
			})
			t.Logf("%s after the API server was back", time.Since(back).Round(time.Millisecond))
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
		c.reaches(want, "watches ended, and were answered: "+how.String())
	}
}

// TestALittleOfEverythingGoesWrong has a twentieth of all calls fail, a fifth be put off, and a twentieth get lost, with the
// same luck each time.
func TestALittleOfEverythingGoesWrong(t *testing.T) {
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
	c.reaches(want, "a little of everything")
	t.Logf("%d calls", len(p.line.Calls()))
}

// TestWhatHappensWhileNobodyWorksIsSeenAfterwards changes and deletes objects while no operator runs.
func TestWhatHappensWhileNobodyWorksIsSeenAfterwards(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(newNetwork())
	want, p := c.undisturbed()
	c.stop(p)
	key := metav1.ObjectMeta{Namespace: "openshift-kube-proxy", Name: "proxy-config"}
	if err := c.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: key}); err != nil {
		t.Fatal(err)
	}
	c.create(&corev1.ConfigMap{ObjectMeta: key, Data: map[string]string{"kube-proxy-config.yaml": "somebody's"}})
	if err := c.Client.Delete(t.Context(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: "flanneld"}}); err != nil {
		t.Fatal(err)
	}
	c.start(faults.NewLine(nil))
	c.reaches(want, "what happened while nobody worked")
}
