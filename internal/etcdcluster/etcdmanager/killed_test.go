package etcdmanager_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
)

// assassin kills the operator at every write, twice: just before it, and just after it, when the writer does not
// learn that it was done. The third time, it lets it pass.
type assassin struct {
	seen  map[string]int
	kills int
}

var errKilled = errors.New("the operator was killed")

func (a *assassin) strike(what string, do func() error) error {
	a.seen[what]++
	switch a.seen[what] {
	case 1:
		a.kills++
		return errKilled
	case 2:
		a.kills++
		_ = do() // no one learns of it
		return errKilled
	}
	return do()
}

// killedClient writes to the API server.
type killedClient struct {
	client.Client
	*assassin
}

func (c killedClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.strike("create "+name(o), func() error { return c.Client.Create(ctx, o, opts...) })
}

func (c killedClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.strike("update "+name(o), func() error { return c.Client.Update(ctx, o, opts...) })
}

// name distinguishes writes by their content, but for what differs between two attempts at the same:
// certificates and tokens are random.
func name(o client.Object) string {
	cm, ok := o.(*corev1.ConfigMap)
	if !ok {
		return o.GetName()
	}
	m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
	if err != nil {
		panic(err)
	}
	out := o.GetName()
	for _, member := range m.Members {
		out += fmt.Sprintf(" %s=%s %v", member.Node, member.State, member.ID != "")
	}
	return out
}

// killedEtcd writes to etcd.
type killedEtcd struct {
	etcdclient.Etcd
	*assassin
}

func (e killedEtcd) AddLearner(ctx context.Context, url string) error {
	return e.strike("add "+url, func() error { return e.Etcd.AddLearner(ctx, url) })
}

func (e killedEtcd) Promote(ctx context.Context, id uint64) error {
	return e.strike(fmt.Sprintf("promote %x", id), func() error { return e.Etcd.Promote(ctx, id) })
}

func (e killedEtcd) Remove(ctx context.Context, id uint64) error {
	return e.strike(fmt.Sprintf("remove %x", id), func() error { return e.Etcd.Remove(ctx, id) })
}

func (e killedEtcd) Commit(ctx context.Context, c etcdclient.Change) (done bool, err error) {
	err = e.strike(fmt.Sprint("commit ", c.Put, c.Delete), func() error {
		done, err = e.Etcd.Commit(ctx, c)
		return err
	})
	return done, err
}

// TestKilledAtAnyStepLosesNothing grows a cluster to three members and reassigns the seat of a lost one, with
// an operator that is killed before and after each of its writes.
func TestKilledAtAnyStepLosesNothing(t *testing.T) {
	w := newWorld(t)
	a := &assassin{seen: map[string]int{}}
	w.wrap = func(d *deps) {
		d.Client = killedClient{d.Client, a}
		d.Dial = func(target etcdclient.Target) (etcdclient.Etcd, error) {
			etcd, err := etcdclient.Dial(target)
			return killedEtcd{etcd, a}, err
		}
	}
	w.Restart()
	w.controlPlane("cp-0", "cp-1", "cp-2")
	token := ""
	calm := func(nodes int) func() bool {
		seen, last := a.kills, 0
		return func() bool {
			if a.kills != seen {
				seen, last = a.kills, 0
				w.Restart()
			}
			w.neverTwoFounders(&token)
			if last++; last < 10 {
				return false // nothing was written for a while
			}
			return len(w.Voters()) == nodes && len(w.Members().Members) == nodes && len(w.Findings) == 0
		}
	}
	w.Until("three members have come together", calm(3))
	grown := a.kills
	if grown < 14 {
		t.Errorf("the operator was killed only %d times; is every write covered?", grown)
	}

	w.Node("cp-3", 4, true)
	w.SwitchOff("cp-1")
	w.RemoveNode("cp-1")
	w.Turn()
	w.Until("the seat is given away", func() bool {
		w.Now = w.Now.Add(etcdmanager.MissingNodeGrace) // a restarted operator begins to count again
		return calm(3)() || w.hasMember("cp-3")
	})
	w.Until("the new member has a vote", calm(3))
	if a.kills == grown {
		t.Error("the operator was not killed while a member left")
	}
	t.Logf("killed %d times", a.kills)
}

func (w *world) hasMember(node string) bool {
	for _, m := range w.Members().Members {
		if m.Node == node {
			return true
		}
	}
	return false
}

// neverTwoFounders holds what keeps subnets from being given out twice.
func (w *world) neverTwoFounders(token *string) {
	w.T.Helper()
	m := w.Members()
	founders, running := 0, 0
	for _, member := range m.Members {
		if member.State == etcdcluster.New {
			founders++
		}
		if member.Runs() {
			running++
		}
	}
	if founders > 1 || founders == 1 && running > 1 {
		w.T.Fatalf("%d founders among %d running members: %+v", founders, running, m.Members)
	}
	if *token == "" {
		*token = m.Token
	}
	if m.Token != *token {
		w.T.Fatalf("a second cluster was founded: token %s after %s", m.Token, *token)
	}
}
