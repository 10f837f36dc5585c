package operator

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// lease is the state of the lease in the cluster.
func (c *cluster) lease() coordinationv1.LeaseSpec {
	var l coordinationv1.Lease
	_ = c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: leaseName}, &l)
	return l.Spec
}

// TestOperatorRestartedInItsPodContinuesAtOnce: it does not wait until the lease of its predecessor has run out, which
// had the same name.
func TestOperatorRestartedInItsPodContinuesAtOnce(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	inPod := func(o *Options) { o.WithoutLease, o.Identity = false, "network-operator-0" }
	victim := &counter{}
	first := c.startWith(victim, inPod)
	c.rolledOut(1)
	c.eventually("the first one installs the network", c.recorded)
	victim.mu.Lock()
	victim.cutAt = victim.writes + 1
	victim.mu.Unlock()
	c.eventually("the leader is known by the name of its lease, as alerts expect", func() bool { return figures(t)["leader_election_master_status "+leaseName] == 1 })
	c.eventually("it is cut off", victim.cut)
	last := c.lease()
	first.stop()

	c.start(inPod)
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth1" })
	var next coordinationv1.LeaseSpec
	c.eventually("the second one has the lease", func() bool {
		next = c.lease()
		return next.RenewTime != nil && next.RenewTime.After(last.RenewTime.Time)
	})
	c.eventually("and does what is to be done", c.has("interface", "eth1"))
	if *next.LeaseTransitions != *last.LeaseTransitions || *next.HolderIdentity != "network-operator-0" {
		t.Errorf("the lease went from hand to hand: %+v, then %+v", last, next)
	}
	if waited := next.RenewTime.Sub(last.RenewTime.Time); waited >= leaseDuration {
		t.Errorf("it waited %s, until the lease of its predecessor had run out", waited)
	}
}
