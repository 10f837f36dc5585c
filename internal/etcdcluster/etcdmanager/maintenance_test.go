package etcdmanager

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
)

func TestDatabaseMaintenanceSteps(t *testing.T) {
	now := time.Unix(1e9, 0)
	member := func(id uint64, leader, full bool, size, used int64) memberDatabase {
		return memberDatabase{etcdcluster.Member{Name: string(rune('a' - 1 + int(id)))}, etcdclient.Database{ID: id, Leader: leader, NoSpace: full, Size: size << 20, InUse: used << 20}}
	}
	small := []memberDatabase{member(1, true, false, 20, 1), member(2, false, false, 300, 200), member(3, false, false, 64, 33)}
	loose := []memberDatabase{member(1, true, false, 300, 10), member(2, false, false, 300, 10), member(3, false, false, 20, 1)}
	full := []memberDatabase{member(1, true, true, 512, 10), member(2, false, true, 512, 10), member(3, false, true, 30, 10)}
	packed := []memberDatabase{member(1, true, true, 500, 490), member(2, false, true, 10, 10), member(3, false, true, 10, 10)}
	done := func(ids ...uint64) maintenance {
		u := maintenance{compacted: true, defragmented: map[uint64]bool{}}
		for _, id := range ids {
			u.defragmented[id] = true
		}
		return u
	}
	for _, tt := range []struct {
		why     string
		before  maintenance
		members []memberDatabase
		want    task
		member  string
	}{
		{"databases that are small, or full of data", maintenance{}, small, "", ""},
		{"half of a large database is free: the leader comes last", maintenance{}, loose, defragment, "b"},
		{"the leader", maintenance{}, []memberDatabase{loose[0], small[1], small[2]}, defragment, "a"},
		{"the pause between two members", maintenance{pausedUntil: now.Add(time.Second)}, loose, "", ""},
		{"the pause is over", maintenance{pausedUntil: now}, loose, defragment, "b"},
		{"etcd is full", maintenance{}, full, compact, ""},
		{"it was compacted", done(), full, defragment, "b"},
		{"a member was defragmented: the small one is, too", done(2), full, defragment, "c"},
		{"all but the leader were", done(2, 3), full, defragment, "a"},
		{"all were, and are small", done(1, 2, 3), []memberDatabase{member(1, true, true, 10, 10), member(2, false, true, 10, 10), member(3, false, true, 10, 10)}, disarm, ""},
		{"all were, and one is full of data", done(1, 2, 3), packed, "", ""},
		{"a repair did not help just now", maintenance{pausedUntil: now.Add(time.Second)}, full, "", ""},
	} {
		if what, m := tt.before.next(tt.members, now); what != tt.want || m.Name != tt.member {
			t.Errorf("%s: %s of %q, want %s of %q", tt.why, what, m.Name, tt.want, tt.member)
		}
	}
}

func TestSizesOfDatabasesAreMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 { // the second time they are registered already
		m, err := NewMetrics(toy, MetricNames{Size: "a", InUse: "b", NoSpace: "c"}, registry)
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
