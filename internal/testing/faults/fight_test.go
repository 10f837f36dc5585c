package faults_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/testing/faults"
)

// condition returns the status, the reason and the message of a condition of the network.
func (c *cluster) condition(name string) string {
	for _, have := range c.network().Status.Conditions {
		if have.Type == name {
			return fmt.Sprintf("%s %s %s", have.Status, have.Reason, have.Message)
		}
	}
	return ""
}

// hasCondition waits until a condition of the network begins with a text.
func (c *cluster) hasCondition(name, text string) {
	c.Helper()
	c.eventually(name+" is "+text, func() string {
		if have := c.condition(name); !strings.HasPrefix(have, text) {
			return "it is " + have
		}
		return ""
	})
}

// meanwhile does something over and over until the function that it returns is called, which waits for its end.
func (c *cluster) meanwhile(every time.Duration, do func(ctx context.Context, n int)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	stop = sync.OnceFunc(func() { cancel(); ended.Wait() })
	c.Cleanup(stop)
	ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do(context.WithoutCancel(ctx), n)
			}
		}
	})
	return stop
}

// agents is the ConfigMap that flannel's agents read.
func agents() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-flannel", Name: "flannel-config"}}
}

func TestConflictingClientIsNamedAndRetriedWithBackOff(t *testing.T) {
	t.Parallel()
	for _, other := range []struct{ manager, sentence string }{
		{"kubectl-edit", "ConfigMap openshift-flannel/flannel-config is being modified by kubectl-edit; "},
		// OpenShift's operator uses this very name.
		{network.FieldManager, "ConfigMap openshift-flannel/flannel-config is being modified by another operator with the field manager cluster-network-operator/operconfig; "},
	} {
		t.Run(other.manager, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.create(newNetwork())
			_, p := c.undisturbed()
			stop := c.meanwhile(50*time.Millisecond, func(ctx context.Context, _ int) {
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"flanneld.json":"{}"},"metadata":{"annotations":null}}`))
				_ = c.Client.Patch(ctx, agents(), patch, client.FieldOwner(other.manager)) // or the next time
			})
			c.hasCondition("Degraded", "True FightDetected "+other.sentence)
			c.hasCondition("Upgradeable", "False FightDetected ")
			c.eventually("an event reports it", func() string {
				var list eventsv1.EventList
				if err := c.Client.List(t.Context(), &list); err != nil {
					return err.Error()
				}
				for _, e := range list.Items {
					if e.Reason == "FightDetected" && e.Regarding.Name == "cluster" && strings.HasPrefix(e.Note, other.sentence) {
						return ""
					}
				}
				return "there is none"
			})
			before := p.line.Writes()
			time.Sleep(3 * time.Second)
			if n := p.line.Writes() - before; n > 3 {
				t.Errorf("%d writes in three seconds of a truce", n)
			}
			stop()
			// What no one fights over is repaired as ever.
			if err := c.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-kube-proxy", Name: "proxy-config"}}); err != nil {
				t.Fatal(err)
			}
			c.eventually("another object is restored", func() string {
				return errorOf(c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "proxy-config"}, &corev1.ConfigMap{}))
			})
		})
	}
}

func errorOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestFieldsOfOtherManagersSurviveManyWrites has a third party write to the operator's objects fifty times a second while it
// installs and changes them.
func TestFieldsOfOtherManagersSurviveManyWrites(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(newNetwork())
	written := make(chan int, 1)
	stop := c.meanwhile(20*time.Millisecond, func(ctx context.Context, n int) {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"theirs":"%d"}},"data":{"theirs":"%d"}}`, n, n))
		if c.Client.Patch(ctx, agents(), patch, client.FieldOwner("them")) == nil {
			select {
			case <-written:
			default:
			}
			written <- n
		}
	})
	p := c.start(faults.NewLine(nil))
	c.hasCondition("Available", "True AsExpected")
	c.edit(func(s *spec) { s.LogLevel = "Debug" })
	c.eventually("the edit is applied meanwhile", func() string {
		if n := c.network(); n.Status.ObservedGeneration != n.Generation {
			return "it is not"
		}
		return ""
	})
	stop()
	last := fmt.Sprint(<-written)
	var cm corev1.ConfigMap
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(agents()), &cm); err != nil {
		t.Fatal(err)
	}
	if cm.Data["theirs"] != last || cm.Annotations["theirs"] != last {
		t.Errorf("theirs are %q and %q, want %s", cm.Data["theirs"], cm.Annotations["theirs"], last)
	}
	if have := c.condition("Degraded"); !strings.HasPrefix(have, "False") {
		t.Errorf("fields of others are no fault: %s", have)
	}
	t.Logf("%s writes of theirs, %d of the operator", last, p.line.Writes())
}
