package addresspool

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

func owner(pod, uid string) whereabouts.Allocation {
	return whereabouts.Allocation{ContainerID: "sandbox-" + pod, PodRef: "ns/" + pod, IfName: "net1", PodUID: uid, Node: "a"}
}

func onNode(a whereabouts.Allocation, node string) whereabouts.Allocation { a.Node = node; return a }

func claimed(a whereabouts.Allocation, name, uid string) whereabouts.Allocation {
	a.Claim, a.ClaimUID = "ns/"+name, uid
	return a
}

func TestFind(t *testing.T) {
	w := func(a whereabouts.Allocation) *observation {
		return &observation{
			pods:   map[string]types.UID{"ns/p": "1", "ns/done": "2", "ns/new": "4"},
			ended:  map[types.UID]bool{"2": true},
			nodes:  map[string]bool{"a": true},
			claims: map[string]types.UID{"ns/c": "7"},
			pools:  []pool{{Pool: whereabouts.Pool{NetworkName: "n", Network: netip.MustParsePrefix("192.0.2.0/24")}, name: "n-192.0.2.0-24", allocations: map[string]whereabouts.Allocation{"5": a}}},
		}
	}
	for _, tt := range []struct {
		why   string
		owner whereabouts.Allocation
		want  reason
	}{
		{"a pod that runs", owner("p", "1"), notReleased},
		{"a deleted pod", owner("gone", "3"), podDeleted},
		{"a pod of the same name is another one", owner("new", "3"), podDeleted},
		{"a pod that has ended", owner("done", "2"), podEnded},
		{"a pod on a node that was deleted", onNode(owner("p", "1"), "b"), nodeDeleted},
		{"whereabouts recorded no UID and no node: the name decides", onNode(owner("p", ""), ""), notReleased},
		{"whereabouts recorded no UID, and there is no pod of the name", onNode(owner("gone", ""), ""), podDeleted},
		{"an owner in a form that is not known", whereabouts.Allocation{ContainerID: "x", PodRef: "x"}, notReleased},
		{"an address that a claim keeps", claimed(owner("gone", "3"), "c", "7"), notReleased},
		{"a claim that was created again", claimed(owner("gone", "3"), "c", "6"), claimDeleted},
		{"a deleted claim of a running pod", claimed(owner("p", "1"), "x", "6"), notReleased},
	} {
		got := findCandidates(w(tt.owner))
		if tt.want == notReleased && len(got) > 0 || tt.want != notReleased && (len(got) != 1 || got[0].reason != tt.want || got[0].offset != "5") {
			t.Errorf("%s: %+v, want %q", tt.why, got, tt.want)
		}
	}
	unserved := w(claimed(owner("gone", "3"), "x", "6"))
	unserved.claims = nil
	if got := findCandidates(unserved); len(got) > 0 {
		t.Errorf("IPAMClaims are not served: %+v", got)
	}
	for _, tt := range []struct {
		why, name string
		owner     whereabouts.Allocation
		want      reason
	}{
		{"the reservation of an address", "n-192.0.2.5", owner("p", "1"), notReleased},
		{"of the same pod in an earlier sandbox", "n-192.0.2.5", whereabouts.Allocation{ContainerID: "old", PodRef: "ns/p", IfName: "net1", PodUID: "1"}, notReleased},
		{"of an address that no pool has", "n-192.0.2.6", owner("p", "1"), orphaned},
		{"of another network", "192.0.2.5", owner("p", "1"), orphaned},
		{"of an address that another pod has", "n-192.0.2.5", owner("new", "4"), orphaned},
		{"of a deleted pod", "n-192.0.2.6", owner("gone", "3"), podDeleted},
	} {
		observed := w(owner("p", "1"))
		observed.reservations = []reservation{{name: tt.name, uid: "r", owner: tt.owner}}
		got := findCandidates(observed)
		if tt.want == notReleased && len(got) > 0 || tt.want != notReleased && (len(got) != 1 || got[0].reason != tt.want || got[0].reservation != tt.name) {
			t.Errorf("%s: %+v, want %q", tt.why, got, tt.want)
		}
	}
}

func TestCandidatesAreDueAfterTheGracePeriod(t *testing.T) {
	now := time.Now()
	c := &Controller{Now: func() time.Time { return now }}
	first, second := candidate{pool: "p", offset: "1", owner: owner("a", "1")}, candidate{pool: "p", offset: "2", owner: owner("b", "2")}
	steps := []struct {
		why   string
		after time.Duration
		found []candidate
		due   []candidate
	}{
		{"seen for the first time", 0, []candidate{first}, nil},
		{"seen again", grace - time.Second, []candidate{first, second}, nil},
		{"due", time.Second, []candidate{first, second}, []candidate{first}},
		{"one that was not released yet stays due", time.Second, []candidate{first, second}, []candidate{first}},
		{"a former candidate is dropped", time.Second, []candidate{second}, nil},
		{"and starts again", grace, []candidate{first, second}, []candidate{second}},
	}
	for _, s := range steps {
		now = now.Add(s.after)
		if diff := cmp.Diff(s.due, c.due(s.found), cmp.AllowUnexported(candidate{})); diff != "" {
			t.Errorf("%s:\n%s", s.why, diff)
		}
	}
	if len(c.since) != 2 {
		t.Errorf("%d are remembered", len(c.since))
	}
}

func TestUsages(t *testing.T) {
	config := func(text string) network {
		c, errs := whereabouts.Parse(text)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return network{nil, c}
	}
	p := func(name, networkName, network, node string, used int) pool {
		out := pool{Pool: whereabouts.Pool{NetworkName: networkName, Network: netip.MustParsePrefix(network), Node: node}, name: name, allocations: map[string]whereabouts.Allocation{}}
		for i := range used {
			out.allocations[fmt.Sprint(i+1)] = whereabouts.Allocation{}
		}
		return out
	}
	w := &observation{
		pools: []pool{p("a", "", "192.0.2.0/24", "", 10), p("b", "n", "192.0.2.0/24", "", 253), p("c", "", "10.0.0.0/24", "node", 14), p("d", "", "fd00::/64", "", 3), p("e", "", "10.9.0.0/30", "", 2)},
		networks: []network{
			config(`{"ipam":{"type":"whereabouts","range":"192.0.2.1-192.0.2.11/24"}}`), config(`{"ipam":{"type":"whereabouts","range":"192.0.2.1-192.0.2.5/24"}}`),
			config(`{"ipam":{"type":"whereabouts","range":"192.0.2.0/24","network_name":"n"}}`),
			config(`{"name":"n","ipam":{"type":"whereabouts","range":"10.0.0.0/24","node_slice_size":"/28"}}`),
		},
	}
	var got []string
	for _, u := range usages(w) {
		got = append(got, fmt.Sprintf("%s %d/%d %s %d", u.pool, u.used, u.within, u.state(), len(u.networks)))
	}
	want := []string{"a 10/11 AddressesRunLow 2", "b 253/254 AddressesRunLow 1", "c 14/16  1", "d 3/18446744073709551615  0", "e 2/2 AddressesExhausted 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefinitionsThatUseWhereabouts(t *testing.T) {
	for text, want := range map[string][]string{
		`{"type":"macvlan","ipam":{"type":"whereabouts","range":"192.0.2.0/24"}}`:                                    {"definition 192.0.2.0/24"},
		`{"name":"n","plugins":[{"type":"macvlan","ipam":{"type":"whereabouts","range":"fd00::/64"}},{"type":"x"}]}`: {"n fd00::/64"},
		`{"name":"n","type":"macvlan","ipam":{"type":"static"}}`:                                                     nil,
		`{"name":"n","type":"macvlan","ipam":{"type":"whereabouts","range":"wrong"}}`:                                nil,
		`{"name":1,"plugins":{},"ipam":[]}`:                                                                          nil,
		`not JSON`:                                                                                                   nil,
		`null`:                                                                                                       nil,
	} {
		var got []string
		for _, c := range configs("definition", text) {
			got = append(got, c.Network+" "+c.Ranges[0].String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func parsePrefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }
