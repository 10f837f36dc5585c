package etcdmanager_test

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

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
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
	// failures is the number of defragmentations that fail.
	failures int
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
	d, err := r.Status(ctx, url)
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
	if r.all.failures > 0 {
		r.all.failures--
		return errors.New("the disk is full")
	}
	return r.Etcd.Defragment(ctx, url)
}

// recording has the controller record what it does for the databases, and report their sizes to a function.
func (w *world) recording(sizes func([]etcdmanager.DatabaseSize)) *recording {
	all := &recording{}
	w.wrap = func(d *deps) {
		d.Databases = sizes
		d.Dial = func(target etcdclient.Target) (etcdclient.Etcd, error) {
			target.Timeout = 10 * time.Second
			etcd, err := etcdclient.Dial(target)
			return recorded{etcd, all}, err
		}
	}
	w.Restart()
	return all
}

// afterFailure lets the pause end after a task failed, as when a busy machine does not answer in time, and returns the condition.
func (w *world) afterFailure(condition bool) bool {
	if w.Message("EtcdUpkeepFailed") != "" {
		w.Now = w.Now.Add(10 * time.Minute)
	}
	return condition
}

// fill writes values below a key until etcd is full, or has been given so many MiB, and returns whether it is full.
func (w *world) fill(c *clientv3.Client, key string, mebibytes int) bool {
	w.T.Helper()
	value := strings.Repeat("x", 1<<20)
	for range mebibytes {
		ctx, cancel := context.WithTimeout(w.T.Context(), time.Minute)
		_, err := c.Put(ctx, key, value)
		cancel()
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return true
		}
		if err != nil {
			w.T.Fatal(err)
		}
	}
	return false
}

// TestAFullEtcdIsRepaired fills three real members with the history of one key.
func TestAFullEtcdIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.Quota = 16 << 20
	alarm := false
	all := w.recording(func(s []etcdmanager.DatabaseSize) {
		alarm = slices.ContainsFunc(s, func(d etcdmanager.DatabaseSize) bool { return d.NoSpace })
	})
	w.controlPlane("a", "b", "c")
	w.Until("etcd has three members", func() bool { return len(w.Voters()) == 3 })
	root := w.Dial(w.Secret(operatorNamespace, cluster.RootSecret()))
	if !w.fill(root, "/elsewhere", 64) {
		t.Fatal("etcd is not full")
	}
	w.SwitchOff("a")
	w.Until("a full etcd is reported while a member does not answer", func() bool {
		return strings.Contains(w.Message("EtcdNoSpace"), "when all members answer") && w.Message("EtcdMemberDown") != ""
	})
	if len(all.done) > 0 {
		t.Errorf("while a member does not answer: %v", all.done)
	}
	if !alarm {
		t.Error("no member has the alarm in its metric")
	}
	w.SwitchOn("a")
	w.Until("it is compacted", func() bool { return w.afterFailure(slices.Contains(all.done, "defragment")) })
	w.Restart() // the operator is killed halfway
	w.Until("the alarm ends", func() bool { return w.afterFailure(slices.Contains(all.done, "disarm")) })
	w.Until("it is no longer reported", func() bool { return w.Message("EtcdNoSpace") == "" && w.Message("EtcdMemberDown") == "" })
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

// TestFragmentedDatabaseIsDefragmented compacts a large history, as etcd itself does each hour. The first two defragmentations fail.
func TestFragmentedDatabaseIsDefragmented(t *testing.T) {
	w := newWorld(t)
	var sizes []etcdmanager.DatabaseSize
	all := w.recording(func(s []etcdmanager.DatabaseSize) { sizes = s })
	all.failures = 2
	w.Node("a", 1, true)
	w.Until("etcd has a member", func() bool { return len(w.Voters()) == 1 && w.Members().Members[0].ID != "" })
	root := w.Dial(w.Secret(operatorNamespace, cluster.RootSecret()))
	w.fill(root, "/elsewhere", etcdmanager.DefragmentThreshold>>20+8)
	w.Until("the size is measured", func() bool { return len(sizes) == 1 && sizes[0].Size >= etcdmanager.DefragmentThreshold })
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
	const failure = "EtcdUpkeepFailed"
	for i, pause := range []time.Duration{time.Minute, 2 * time.Minute} {
		w.Until("a failure is reported", func() bool {
			// On a busy machine, etcd counts the pages that a compaction frees only at the next write, and no agent writes here.
			if _, err := root.Put(t.Context(), "/elsewhere", ""); err != nil {
				t.Fatal(err)
			}
			return len(all.done) > i && strings.Contains(w.Message(failure), "the disk is full")
		})
		w.Now = w.Now.Add(pause - time.Second)
		for range 3 {
			w.Turn()
		}
		if w.Message(failure) == "" || len(all.done) != i+1 {
			t.Errorf("before the pause ends: message %q, it did %v", w.Message(failure), all.done)
		}
		w.Now = w.Now.Add(time.Second)
	}
	w.Until("the database is small", func() bool {
		return w.afterFailure(len(sizes) == 1 && sizes[0].Node == "a" && sizes[0].Size < etcdmanager.DefragmentThreshold/4)
	})
	w.Until("no failure is reported", func() bool { return w.Message(failure) == "" })
	if len(all.done) < 3 || slices.ContainsFunc(all.done, func(what string) bool { return what != "defragment leader" }) || all.problem != "" {
		t.Errorf("it did %v; %s", all.done, all.problem)
	}
}
