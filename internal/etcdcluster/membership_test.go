package etcdcluster

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nodes(n int) []Candidate {
	var out []Candidate
	for i := range n {
		out = append(out, Candidate{Name: string(rune('a' + i)), UID: "u", Address: netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})})
	}
	return out
}

var cluster = Cluster{Network: "toy", Component: "Toy", Namespace: "openshift-toy", App: "toy-etcd", ServiceAccount: "toy", Holds: "what", WhenFull: "nothing changes", MetricsPort: 12381}

var managed = Managed{ClientPort: 12379, PeerPort: 12380, Image: "etcd"}

func TestNumberOfSeatsIsOdd(t *testing.T) {
	for candidates, want := range []int{0, 1, 1, 3, 3, 3} {
		if got := Seats(candidates); got != want {
			t.Errorf("%d candidates: %d seats, want %d", candidates, got, want)
		}
	}
}

func TestOnlyOneFoundsACluster(t *testing.T) {
	for n := range 6 {
		founders := 0
		for _, m := range Bootstrap(nodes(n), managed, "t").Members {
			if m.State == New {
				founders++
			}
			if m.Runs() != (m.State == New) {
				t.Errorf("%s runs although it was only promised", m.Name)
			}
		}
		if founders != min(n, 1) {
			t.Errorf("%d candidates: %d founders", n, founders)
		}
	}
}

func TestRecordsRoundTripThroughJSON(t *testing.T) {
	m := Bootstrap(nodes(3), managed, "t")
	m.ClientTrust, m.Members[0].ID = "x", "1"
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeMembership(text)
	if diff := cmp.Diff(m, again); err != nil || diff != "" {
		t.Errorf("error %v, difference:\n%s", err, diff)
	}
}

func FuzzDecodeMembership(f *testing.F) {
	f.Add(`{"members":[{"name":"a-t","node":"a","address":"192.0.2.1","state":"new"}]}`)
	f.Add(`{"members":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := DecodeMembership(text)
		if err != nil {
			return
		}
		for _, member := range m.Members {
			if _, err := m.EtcdConfig(member, cluster.PodPaths()); err != nil {
				t.Errorf("what was accepted cannot be configured: %v", err)
			}
		}
	})
}

func TestOnlyTheFounderStartsANewCluster(t *testing.T) {
	m := Bootstrap(nodes(1), managed, "t")
	for state, want := range map[State][]string{
		New:      {"initial-cluster-state: new", "initial-cluster: a-t=https://192.0.2.1:12380"},
		Existing: {"initial-cluster-state: existing"},
		Learner:  {"initial-cluster-state: existing", "data-dir: /var/lib/etcd/a-t", "client-cert-auth: true", "listen-metrics-urls: http://127.0.0.1:12381", "quota-backend-bytes: 536870912"},
	} {
		m.Members[0].State = state
		config, err := m.EtcdConfig(m.Members[0], cluster.PodPaths())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(config, line+"\n") {
				t.Errorf("%s: no line %q in\n%s", state, line, config)
			}
		}
	}
}
