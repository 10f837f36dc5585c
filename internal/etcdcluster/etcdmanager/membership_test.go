package etcdmanager

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
)

// toy is the etcd of a network of these tests.
var toy = etcdcluster.Cluster{Network: "toy", Component: "Toy", Namespace: "openshift-toy", App: "toy-etcd", ServiceAccount: "toy",
	Holds: "which node has what", WhenFull: "nothing changes", MetricsPort: 12381}

var (
	ports = etcdcluster.Managed{ClientPort: 12379, PeerPort: 12380, Image: "etcd:v1"}
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func candidate(name, addr string) etcdcluster.Candidate {
	return etcdcluster.Candidate{Name: name, UID: "uid-" + name, Address: netip.MustParseAddr(addr)}
}

var a, b, c, d = candidate("a", "192.0.2.1"), candidate("b", "192.0.2.2"), candidate("c", "192.0.2.3"), candidate("d", "192.0.2.4")

func member(n etcdcluster.Candidate, state etcdcluster.State, id string) etcdcluster.Member {
	m := etcdcluster.NewMember(n, ports, "t0")
	m.State, m.ID, m.Trust = state, id, "trust"
	return m
}

// grown is a healthy cluster of three, and its view.
func grown() (etcdcluster.Membership, view) {
	m := etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.Existing, "1"), member(b, etcdcluster.Existing, "2"), member(c, etcdcluster.Existing, "3")}}
	return m, look(m, a, b, c)
}

// look is the view of a cluster in which everything is healthy.
func look(m etcdcluster.Membership, candidates ...etcdcluster.Candidate) view {
	v := view{cluster: toy, now: noon, managed: ports, trust: "trust", token: "t1", candidates: candidates, known: true,
		nodes: map[string]etcdcluster.Candidate{}, missingSince: map[string]time.Time{}, answers: map[string]bool{}, upToDate: map[string]bool{}, stalled: map[string]bool{}}
	for _, n := range candidates {
		v.nodes[n.Name] = n
	}
	for i, member := range m.Members {
		if member.Runs() {
			v.answers[member.Name], v.upToDate[member.Name] = true, true
			v.actual = append(v.actual, etcdclient.Member{ID: uint64(i + 1), Name: member.Name, PeerURL: member.PeerURL, Learner: member.State == etcdcluster.Learner})
		}
	}
	return v
}

// short describes a step in the notation of the rows of tables.
func short(m etcdcluster.Membership, s step) string {
	switch {
	case s.problem != "":
		return "problem: " + s.problem
	case s.record != nil && s.record.Token != m.Token:
		return "found: " + describe(etcdcluster.Membership{}, *s.record)
	case s.record != nil:
		return "record: " + describe(m, *s.record)
	case s.verb != "":
		return string(s.verb) + " " + s.member
	}
	return s.waiting
}

func TestPlan(t *testing.T) {
	for _, tc := range []struct {
		why    string
		change func(m *etcdcluster.Membership, v *view)
		want   string // the beginning
	}{
		{"all is well", func(*etcdcluster.Membership, *view) {}, ""},
		{"nothing was ever founded", func(m *etcdcluster.Membership, v *view) { *m, v.actual = etcdcluster.Membership{}, nil }, "found: a-t1 is new, b-t1 is promised, c-t1 is promised"},
		{"two control-plane nodes are worse than one", func(m *etcdcluster.Membership, v *view) {
			*m, v.candidates = etcdcluster.Membership{}, v.candidates[:2]
		}, "found: a-t1 is new"},
		{"no control-plane node", func(m *etcdcluster.Membership, v *view) { *m, v.candidates = etcdcluster.Membership{}, nil }, "toy's etcd waits for a control-plane node"},
		{"a person wants another cluster", func(_ *etcdcluster.Membership, v *view) { v.bootstrapAgain = true }, "found: a-t1 is new"},

		{"the founder got its number", func(m *etcdcluster.Membership, v *view) {
			*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.New, "")}}
			*v = look(*m, a)
		}, "record: a-t0 is new, was new"},
		{"seats are promised when there are three nodes", func(m *etcdcluster.Membership, v *view) {
			*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.New, "1")}}
			*v = look(*m, a, b, c)
		}, "record: b-t1 is promised, c-t1 is promised"},
		{"the founder is one of several before another is added", func(m *etcdcluster.Membership, v *view) {
			*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.New, "1"), member(b, etcdcluster.Promised, ""), member(c, etcdcluster.Promised, "")}}
			*v = look(*m, a, b, c)
		}, "record: a-t0 is existing, was new"},
		{"one is added at a time", func(m *etcdcluster.Membership, v *view) {
			m.Members[1].State, m.Members[2].State = etcdcluster.Promised, etcdcluster.Promised
			*v = look(*m, a, b, c)
		}, "add b-t0"},
		{"no one is added while a member is down", func(m *etcdcluster.Membership, v *view) {
			m.Members[2].State = etcdcluster.Promised
			*v = look(*m, a, b, c)
			v.answers["b-t0"] = false
		}, "toy's etcd grows to node c when the member on node b answers"},
		{"killed after adding", func(m *etcdcluster.Membership, v *view) {
			m.Members[2].State, m.Members[2].ID = etcdcluster.Promised, ""
			v.actual[2].Name, v.actual[2].Learner = "", true
		}, "record: c-t0 is learner, was promised"},
		{"a learner that has not started", func(m *etcdcluster.Membership, v *view) {
			m.Members[2].State = etcdcluster.Learner
			v.actual[2].Name, v.actual[2].Learner = "", true
		}, "a member of toy's etcd is being started on node c"},
		{"a learner that runs", func(m *etcdcluster.Membership, v *view) {
			m.Members[2].State, v.actual[2].Learner = etcdcluster.Learner, true
		}, "promote c-t0"},
		{"killed after promoting", func(m *etcdcluster.Membership, _ *view) { m.Members[2].State = etcdcluster.Learner }, "record: c-t0 is existing, was learner"},

		{"a member is unavailable, its node is ready", func(_ *etcdcluster.Membership, v *view) { v.answers["b-t0"] = false }, ""},
		{"a node has been missing for a moment", func(_ *etcdcluster.Membership, v *view) { gone(v, "b", 59*time.Second) }, ""},
		{"a node has been missing for a minute", func(_ *etcdcluster.Membership, v *view) { gone(v, "b", time.Minute) }, "remove b-t0"},
		{"a Node was deleted, its machine keeps running", func(_ *etcdcluster.Membership, v *view) {
			gone(v, "b", time.Hour)
			v.answers["b-t0"] = true
		}, ""},
		{"killed after removing", func(_ *etcdcluster.Membership, v *view) {
			gone(v, "b", time.Minute)
			v.actual = append(v.actual[:1], v.actual[2])
		}, "record: b-t0 is removed"},
		{"no quorum to remove with", func(_ *etcdcluster.Membership, v *view) {
			gone(v, "b", time.Minute)
			v.known, v.actual = false, nil
		}, "problem: node b was deleted"},
		{"a replaced machine may still return with its data", func(_ *etcdcluster.Membership, v *view) { replaced(v, 4*time.Minute) }, ""},
		{"a replaced machine without the data", func(_ *etcdcluster.Membership, v *view) { replaced(v, 5*time.Minute) }, "remove b-t0"},
		{"a machine that returned with its data", func(_ *etcdcluster.Membership, v *view) {
			replaced(v, time.Second)
			v.answers["b-t0"] = true
		}, "record: b-t0 is existing, was existing"},
		{"a reserved seat of a deleted node is free at once", func(m *etcdcluster.Membership, v *view) {
			m.Members[2].State = etcdcluster.Promised
			*v = look(*m, a, b, c)
			gone(v, "c", 0)
		}, "record: c-t0 is removed"},
		{"the seat of one that left is given to the oldest without", func(m *etcdcluster.Membership, v *view) {
			m.Members = m.Members[:2]
			*v = look(*m, a, b, c, d)
		}, "record: c-t1 is promised"},
		{"the only member's node is deleted: no data is left", func(m *etcdcluster.Membership, v *view) {
			*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.New, "1")}}
			*v = look(*m, a, b)
			gone(v, "a", time.Minute)
			v.known, v.actual = false, nil
		}, "found: b-t1 is new"},
		{"the only member's node has another address, since a moment", func(m *etcdcluster.Membership, v *view) {
			elsewhere(m, v, 59*time.Second)
		}, "node a has another address"},
		{"the only member's node has another address: the data are on its disk", func(m *etcdcluster.Membership, v *view) {
			elsewhere(m, v, time.Minute)
		}, "record: a-t0 is new, was existing"},
		{"the member answers at the former address", func(m *etcdcluster.Membership, v *view) {
			elsewhere(m, v, time.Hour)
			v.answers["a-t0"] = true
		}, ""},
		{"the only member was moved", func(m *etcdcluster.Membership, v *view) {
			*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.New, "1")}}
			*v = look(*m, a)
			v.actual[0].PeerURL = "https://192.0.2.9:12380"
		}, "move a-t0"},
		{"one of three members has another address: the others have its data", func(_ *etcdcluster.Membership, v *view) {
			gone(v, "b", 5*time.Minute)
			v.nodes["b"] = candidate("b", "192.0.2.9")
		}, "remove b-t0"},
		{"the last control-plane node is deleted", func(m *etcdcluster.Membership, v *view) {
			*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.New, "1")}}
			*v = look(*m, a)
			gone(v, "a", time.Hour)
			v.known, v.actual, v.candidates = false, nil, nil
		}, ""},

		{"a member was removed manually", func(_ *etcdcluster.Membership, v *view) { v.actual = v.actual[:2] }, "record: c-t0 is removed"},
		{"a learner that no one has noted", func(_ *etcdcluster.Membership, v *view) {
			v.actual = append(v.actual, etcdclient.Member{ID: 9, PeerURL: "https://192.0.2.9:12380", Learner: true})
		}, "remove "},
		{"another etcd answers at the addresses", func(_ *etcdcluster.Membership, v *view) {
			for i := range v.actual {
				v.actual[i].Name = "a third party's"
			}
		}, ""},

		{"a new image", func(_ *etcdcluster.Membership, v *view) { v.managed.Image = "etcd:v2" }, "record: a-t0 is existing, was existing"},
		{"the next when the one before is ready", func(m *etcdcluster.Membership, v *view) {
			v.managed.Image, m.Members[0].Image, v.upToDate["a-t0"] = "etcd:v2", "etcd:v2", false
		}, "toy's etcd on node b is updated when the member on node a is ready"},
		{"the broken one first: the new image may repair it", func(_ *etcdcluster.Membership, v *view) {
			v.managed.Image, v.upToDate["c-t0"] = "etcd:v2", false
		}, "record: c-t0 is existing, was existing"},
		{"a member that the others reject for its new bundle", func(m *etcdcluster.Membership, v *view) {
			m.Members[0].Trust, v.trust = "new", "new"
			v.upToDate["a-t0"], v.stalled["a-t0"] = false, true
		}, "record: b-t0 is existing, was existing"},
		{"a member with the new bundle is given the time to start", func(m *etcdcluster.Membership, v *view) {
			m.Members[0].Trust, v.trust, v.upToDate["a-t0"] = "new", "new", false
		}, "toy's etcd on node b is updated when the member on node a is ready"},
		{"an image that does not start stops at the first member", func(m *etcdcluster.Membership, v *view) {
			m.Members[0].Image, v.managed.Image = "etcd:v2", "etcd:v2"
			v.upToDate["a-t0"], v.stalled["a-t0"] = false, true
		}, "toy's etcd on node b is updated when the member on node a is ready"},
		{"new CAs", func(m *etcdcluster.Membership, _ *view) { m.Members[2].Trust = "old" }, "record: c-t0 is existing, was existing"},
	} {
		m, v := grown()
		tc.change(&m, &v)
		if got := short(m, plan(m, v)); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tc.why, got, tc.want)
		}
	}
}

// elsewhere has the node of the only member have another address for a time.
func elsewhere(m *etcdcluster.Membership, v *view, since time.Duration) {
	*m = etcdcluster.Membership{Token: "t0", Members: []etcdcluster.Member{member(a, etcdcluster.Existing, "1")}}
	*v = look(*m, a)
	gone(v, "a", since)
	v.nodes["a"] = candidate("a", "192.0.2.9")
	v.known, v.actual = false, nil
}

func gone(v *view, node string, since time.Duration) {
	delete(v.nodes, node)
	v.candidates = without(v.candidates, node)
	v.answers[node+"-t0"] = false
	v.missingSince[node+"-t0"] = v.now.Add(-since)
}

func without(list []etcdcluster.Candidate, name string) []etcdcluster.Candidate {
	var out []etcdcluster.Candidate
	for _, n := range list {
		if n.Name != name {
			out = append(out, n)
		}
	}
	return out
}

func replaced(v *view, since time.Duration) {
	gone(v, "b", since)
	again := b
	again.UID = "uid-b-2"
	v.nodes["b"] = again
	v.candidates = append(v.candidates, again)
}

func TestPlanDoesNotChangeItsInput(t *testing.T) {
	m, v := grown()
	before := clone(m)
	v.managed.Image, v.trust = "etcd:v2", "new"
	replaced(&v, time.Second)
	v.answers["b-t0"] = true
	plan(m, v)
	if diff := cmp.Diff(before, m); diff != "" {
		t.Error(diff)
	}
}

// TestBundleIsUpdatedWithoutTheFailingImage updates the bundle alone where the member before may fail for its image.
func TestBundleIsUpdatedWithoutTheFailingImage(t *testing.T) {
	m, v := grown()
	v.managed.Image, v.trust = "etcd:v2", "new"
	m.Members[0].Image, m.Members[0].Trust = "etcd:v2", "new"
	v.upToDate["a-t0"], v.stalled["a-t0"] = false, true
	next := plan(m, v).record
	if next == nil || next.Members[1].Trust != "new" || next.Members[1].Image != "etcd:v1" {
		t.Errorf("the next record is %+v", next)
	}
}
