package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

func TestWhatIsDoneForDatabases(t *testing.T) {
	now := time.Unix(1e9, 0)
	member := func(id uint64, leader, full bool, size, used int64) stored {
		return stored{record.Member{Name: string(rune('a' - 1 + int(id)))}, Database{ID: id, Leader: leader, NoSpace: full, Size: size << 20, InUse: used << 20}}
	}
	small := []stored{member(1, true, false, 20, 1), member(2, false, false, 300, 200), member(3, false, false, 64, 33)}
	loose := []stored{member(1, true, false, 300, 10), member(2, false, false, 300, 10), member(3, false, false, 20, 1)}
	full := []stored{member(1, true, true, 512, 10), member(2, false, true, 512, 10), member(3, false, true, 30, 10)}
	packed := []stored{member(1, true, true, 500, 490), member(2, false, true, 10, 10), member(3, false, true, 10, 10)}
	done := func(ids ...uint64) upkeep {
		u := upkeep{compacted: true, defragmented: map[uint64]bool{}}
		for _, id := range ids {
			u.defragmented[id] = true
		}
		return u
	}
	for _, tt := range []struct {
		why     string
		was     upkeep
		members []stored
		want    chore
		member  string
	}{
		{"databases that are small, or full of data", upkeep{}, small, "", ""},
		{"half of a large database is free: the leader comes last", upkeep{}, loose, defragment, "b"},
		{"the leader", upkeep{}, []stored{loose[0], small[1], small[2]}, defragment, "a"},
		{"the pause between two members", upkeep{rest: now.Add(time.Second)}, loose, "", ""},
		{"the pause is over", upkeep{rest: now}, loose, defragment, "b"},
		{"etcd is full", upkeep{}, full, compact, ""},
		{"it was compacted", done(), full, defragment, "b"},
		{"a member was defragmented: the small one is, too", done(2), full, defragment, "c"},
		{"all but the leader were", done(2, 3), full, defragment, "a"},
		{"all were, and are small", done(1, 2, 3), []stored{member(1, true, true, 10, 10), member(2, false, true, 10, 10), member(3, false, true, 10, 10)}, disarm, ""},
		{"all were, and one is full of data", done(1, 2, 3), packed, "", ""},
		{"a repair did not help just now", upkeep{rest: now.Add(time.Second)}, full, "", ""},
	} {
		if what, m := tt.was.next(tt.members, now); what != tt.want || m.Name != tt.member {
			t.Errorf("%s: %s of %q, want %s of %q", tt.why, what, m.Name, tt.want, tt.member)
		}
	}
}

// recorded records what a connection is asked to do for the databases.
type recorded struct {
	Etcd
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

// recording has the loop record what it does for the databases.
func (w *world) recording() *recording {
	all := &recording{}
	w.wrap = func(d *Deps) {
		d.Dial = func(target Target) (Etcd, error) {
			target.Timeout = 10 * time.Second
			etcd, err := Dial(target)
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
	all := w.recording()
	alarm := false
	measure := func(s []DatabaseSize) { alarm = slices.ContainsFunc(s, func(d DatabaseSize) bool { return d.NoSpace }) }
	w.loop.deps.Databases = measure
	for i, name := range []string{"a", "b", "c"} {
		w.node(name, i+1, true)
	}
	w.until("etcd has three members", func() bool { return len(w.voters()) == 3 })
	root := w.etcdAs(w.secret(operatorNamespace, record.RootSecret))
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
	w.loop.deps.Databases = measure
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
	all := w.recording()
	var sizes []DatabaseSize
	w.loop.deps.Databases = func(s []DatabaseSize) { sizes = s }
	w.node("a", 1, true)
	w.until("etcd has a member", func() bool { return len(w.voters()) == 1 && w.members().Members[0].ID != "" })
	root := w.etcdAs(w.secret(operatorNamespace, record.RootSecret))
	w.fill(root, "/elsewhere", wasteful>>20+8)
	w.until("the size is measured", func() bool { return len(sizes) == 1 && sizes[0].Size >= wasteful })
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
	w.until("the database is small", func() bool { return len(sizes) == 1 && sizes[0].Node == "a" && sizes[0].Size < wasteful/4 })
	if !slices.Equal(all.done, []string{"defragment leader"}) {
		t.Errorf("it did %v", all.done)
	}
}

func TestSizesOfDatabasesAreMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 { // the second time they are registered already
		m, err := NewMetrics(registry)
		if err != nil {
			t.Fatal(err)
		}
		m.Databases([]DatabaseSize{{Node: "former", Size: 1, InUse: 1}})
		m.Databases([]DatabaseSize{{Node: "a", Size: 20, InUse: 10, NoSpace: true}})
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 3 {
		t.Fatalf("metrics are %v, %v", families, err)
	}
	for i, want := range []float64{20, 10, 1} {
		list := families[i].GetMetric()
		if len(list) != 1 || list[0].GetLabel()[0].GetValue() != "a" || list[0].GetGauge().GetValue() != want {
			t.Errorf("%s is %v", families[i].GetName(), list)
		}
	}
}
