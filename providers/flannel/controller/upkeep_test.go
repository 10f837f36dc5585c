package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// recorded records what a connection is asked to do for the databases.
type recorded struct {
	etcdclient.Etcd
	all *recording
}

type recording struct {
	mu      sync.Mutex
	done    []string
	problem string
	// busy is locked while a member is being defragmented.
	busy sync.Mutex
}

func (r recorded) note(what string) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	r.all.done = append(r.all.done, what)
}

func (r recorded) Compact(ctx context.Context) error {
	r.note("compact")
	return r.Etcd.Compact(ctx)
}

func (r recorded) Disarm(ctx context.Context) error {
	r.note("disarm")
	return r.Etcd.Disarm(ctx)
}

func (r recorded) Defragment(ctx context.Context, url string) error {
	d, err := r.Answers(ctx, url)
	if !r.all.busy.TryLock() || err != nil {
		r.all.problem = "a member is defragmented while another one is, or does not answer"
	} else {
		defer r.all.busy.Unlock()
	}
	if d.Leader {
		r.note("defragment leader")
	} else {
		r.note("defragment")
	}
	return r.Etcd.Defragment(ctx, url)
}

// recording has the loop record what it does for the databases, and report their sizes to a function.
func (w *world) recording(sizes func([]etcdmanager.DatabaseSize)) *recording {
	all := &recording{}
	w.wrap = func(d *Deps) {
		d.Databases = sizes
		d.Dial = func(target etcdclient.Target) (etcdclient.Etcd, error) {
			target.Timeout = 10 * time.Second
			etcd, err := etcdclient.Dial(target)
			return recorded{etcd, all}, err
		}
	}
	w.restart()
	return all
}

// fill writes values below a key until etcd is full, or has been given so many MiB, and returns whether it is full.
func (w *world) fill(c *clientv3.Client, key string, mebibytes int) bool {
	w.t.Helper()
	value := strings.Repeat("x", 1<<20)
	for range mebibytes {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		_, err := c.Put(ctx, key, value)
		cancel()
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return true
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return false
}

// TestAFullEtcdIsRepaired fills three real members with the history of one key.
func TestAFullEtcdIsRepaired(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	w.quota = 16 << 20
	alarm := false
	all := w.recording(func(s []etcdmanager.DatabaseSize) {
		alarm = slices.ContainsFunc(s, func(d etcdmanager.DatabaseSize) bool { return d.NoSpace })
	})
	for i, name := range []string{"a", "b", "c"} {
		w.node(name, i+1, true)
	}
	w.until("etcd has three members", func() bool { return len(w.voters()) == 3 })
	root := w.etcdAs(w.secret(operatorNamespace, record.Etcd.RootSecret()))
	if !w.fill(root, "/elsewhere", 64) {
		t.Fatal("etcd is not full")
	}
	w.off["a"] = true
	w.kill("a")
	w.until("a full etcd is reported while a member does not answer", func() bool {
		return strings.Contains(w.says("EtcdNoSpace"), "when all members answer") && w.says("EtcdMemberDown") != ""
	})
	if len(all.done) > 0 {
		t.Errorf("while a member does not answer: %v", all.done)
	}
	if !alarm {
		t.Error("no member has the alarm in its metric")
	}
	w.off["a"] = false
	w.until("it is compacted", func() bool { return slices.Contains(all.done, "defragment") })
	w.restart() // the operator dies in the middle of it
	w.until("the alarm ends", func() bool { return slices.Contains(all.done, "disarm") })
	w.until("it is no longer reported", func() bool { return w.says("EtcdNoSpace") == "" && w.says("EtcdMemberDown") == "" })
	if alarm {
		t.Error("a member still has the alarm in its metric")
	}
	if w.fill(root, "/elsewhere", 4) {
		t.Error("etcd is still full")
	}
	want := []string{"compact", "defragment", "defragment", "defragment leader", "disarm"}
	if len(all.done) < len(want) || !slices.Equal(all.done[len(all.done)-len(want):], want) || all.problem != "" {
		t.Errorf("it did %v; %s", all.done, all.problem)
	}
}

// TestALooseDatabaseIsDefragmented compacts a large history, as etcd itself does each hour.
func TestALooseDatabaseIsDefragmented(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	var sizes []etcdmanager.DatabaseSize
	all := w.recording(func(s []etcdmanager.DatabaseSize) { sizes = s })
	w.node("a", 1, true)
	w.until("etcd has a member", func() bool { return len(w.voters()) == 1 && w.members().Members[0].ID != "" })
	root := w.etcdAs(w.secret(operatorNamespace, record.Etcd.RootSecret()))
	w.fill(root, "/elsewhere", etcdmanager.Wasteful>>20+8)
	w.until("the size is measured", func() bool { return len(sizes) == 1 && sizes[0].Size >= etcdmanager.Wasteful })
	if len(all.done) > 0 {
		t.Errorf("it did %v to a database full of data", all.done)
	}
	status, err := root.Get(t.Context(), "/elsewhere", clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Compact(t.Context(), status.Header.GetRevision(), clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	w.until("the database is small", func() bool { return len(sizes) == 1 && sizes[0].Node == "a" && sizes[0].Size < etcdmanager.Wasteful/4 })
	if !slices.Equal(all.done, []string{"defragment leader"}) {
		t.Errorf("it did %v", all.done)
	}
}
