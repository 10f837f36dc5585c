package whereabouts

import (
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rangeOf reads a range with its exclusions.
func rangeOf(t testing.TB, text string, exclude ...string) Range {
	t.Helper()
	members := `"range":"` + text + `","exclude":[`
	for i, e := range exclude {
		if i > 0 {
			members += ","
		}
		members += `"` + e + `"`
	}
	c, errs := Parse(ipam(members + "]"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return c.Ranges[0]
}

func owner(container string) Allocation {
	return Allocation{ContainerID: container, IfName: "net1", PodRef: "ns/" + container, PodUID: "uid-" + container}
}

func TestTheAddressesOfARangeInOrder(t *testing.T) {
	for _, tt := range []struct {
		why, network string
		exclude      []string
		want         []string
	}{
		{"never the network and the broadcast address", "192.0.2.0/30", nil, []string{"192.0.2.1", "192.0.2.2"}},
		{"a point-to-point network has neither", "192.0.2.4/31", nil, []string{"192.0.2.4", "192.0.2.5"}},
		{"one address", "192.0.2.9/32", nil, []string{"192.0.2.9"}},
		{"IPv6 has no broadcast address", "fd00::/126", nil, []string{"fd00::1", "fd00::2", "fd00::3"}},
		{"a point-to-point network of IPv6", "fd00::4/127", nil, []string{"fd00::4", "fd00::5"}},
		{"one address of IPv6", "fd00::9/128", nil, []string{"fd00::9"}},
		{"first and last", "192.0.2.5-192.0.2.7/24", nil, []string{"192.0.2.5", "192.0.2.6", "192.0.2.7"}},
		{"first and last may name what is never assigned", "192.0.2.0-192.0.2.3/30", nil, []string{"192.0.2.1", "192.0.2.2"}},
		{"excluded networks and addresses, which overlap", "192.0.2.0/28", []string{"192.0.2.0/29", "192.0.2.4", "192.0.2.7/32", "192.0.2.10/31", "192.0.2.12/30"}, []string{"192.0.2.8", "192.0.2.9"}},
		{"the end of all IPv6 addresses", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126", nil, []string{"fdff:ffff:ffff:ffff:ffff:ffff:ffff:fffd", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
	} {
		r := rangeOf(t, tt.network, tt.exclude...)
		var got []string
		given := map[netip.Addr]bool{}
		for {
			a, ok := r.Next(netip.Addr{}, func(a netip.Addr) bool { return given[a] })
			if !ok {
				break
			}
			given[a] = true
			got = append(got, a.String())
			if back, ok := r.Address(r.Offset(a)); !ok || back != a {
				t.Errorf("%s: offset %s is %s, %v; want %s", tt.why, r.Offset(a), back, ok, a)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || r.Size() != uint64(len(tt.want)) {
			t.Errorf("%s: size %d\n%s", tt.why, r.Size(), diff)
		}
	}
}

func TestOffsetsOfAnyKeyAreReadSafely(t *testing.T) {
	v4, v6 := rangeOf(t, "192.0.2.0/24"), rangeOf(t, "fd00::/16")
	for _, key := range []string{"", "-1", "+1", "1_0", "0x1", "256", "x", "99999999999999999999999999999999999999999999999999", "340282366920938463463374607431768211455"} {
		if a, ok := v4.Address(key); ok {
			t.Errorf("%q is %s", key, a)
		}
		if a, ok := v6.Address(key); ok && key != "256" {
			t.Errorf("%q is %s", key, a)
		}
	}
	// An offset beyond 64 bits: ranges of IPv6 of any size are assigned as a whole.
	far := addr("fd00:ffff::5")
	if a, ok := v6.Address(v6.Offset(far)); !ok || a != far {
		t.Errorf("%s is %s, %v", v6.Offset(far), a, ok)
	}
	if a, ok := v4.Address("7"); !ok || a != addr("192.0.2.7") {
		t.Errorf("7 is %s, %v", a, ok)
	}
}

func TestDecide(t *testing.T) {
	r := rangeOf(t, "192.0.2.0/29", "192.0.2.2")
	upper := rangeOf(t, "192.0.2.4-192.0.2.6/29")
	old := Allocation{ContainerID: "a", PodRef: "ns/a"} // of an early whereabouts
	claim := func(container string) Allocation {
		a := owner(container)
		a.Claim, a.ClaimUID = "ns/c", "claim"
		return a
	}
	otherSandbox := owner("b")
	otherSandbox.PodUID = "uid-a"
	namesake := owner("b")
	namesake.PodRef = "ns/a"
	other := owner("a")
	other.IfName = "net2"
	ask := func(o Allocation, address ...string) Request {
		q := Request{Range: r, Owner: o}
		if len(address) > 0 {
			q.Address = addr(address[0])
		}
		return q
	}
	type allocations = map[string]Allocation
	for _, tt := range []struct {
		why      string
		have     allocations
		requests []Request
		held     map[int]netip.Addr
		avoid    string
		want     []string
	}{
		{"the lowest free address", allocations{"1": owner("x")}, []Request{ask(owner("a")), ask(owner("b"))}, nil, "", []string{"192.0.2.3 new", "192.0.2.4 new"}},
		{"a sandbox keeps what it has", allocations{"5": owner("a")}, []Request{ask(owner("a"))}, nil, "", []string{"192.0.2.5"}},
		{"a record of an early version, without an interface", allocations{"5": old}, []Request{ask(owner("a"))}, nil, "", []string{"192.0.2.5"}},
		{"another interface of the sandbox", allocations{"1": other}, []Request{ask(owner("a"))}, nil, "", []string{"192.0.2.3 new"}},
		{"a new sandbox of the same pod", allocations{"5": owner("a")}, []Request{ask(otherSandbox)}, nil, "", []string{"192.0.2.5"}},
		{"the address of the sandbox takes precedence over that of an earlier one", allocations{"3": otherSandbox, "5": owner("a")}, []Request{ask(owner("a"))}, nil, "", []string{"192.0.2.5"}},
		{"a pod of the same name is another pod", allocations{"1": owner("a")}, []Request{ask(namesake)}, nil, "", []string{"192.0.2.3 new"}},
		{"the pod that uses a claim next", allocations{"5": claim("a")}, []Request{ask(claim("b"))}, nil, "", []string{"192.0.2.5"}},
		{"two pods with one claim at once: a virtual machine that moves", nil, []Request{ask(claim("a")), ask(claim("b"))}, nil, "", []string{"192.0.2.1 new", "192.0.2.3 new"}},
		{"requests for one address", nil, []Request{ask(owner("a"), "192.0.2.5"), ask(owner("b"), "192.0.2.5"), ask(owner("c"), "192.0.2.2")}, nil, "", []string{"192.0.2.5 new", "none, uid-a", "none"}},
		{"a requested address that the owner has", allocations{"5": owner("a")}, []Request{ask(owner("a"), "192.0.2.5")}, nil, "", []string{"192.0.2.5"}},
		{"a requested address, and the owner has another", allocations{"5": owner("a")}, []Request{ask(owner("a"), "192.0.2.4")}, nil, "", []string{"192.0.2.4 new"}},
		{"a requested address that is reserved elsewhere", nil, []Request{ask(owner("a"), "192.0.2.4")}, nil, "192.0.2.4", []string{"none"}},
		{"what is reserved elsewhere is not assigned", nil, []Request{ask(owner("a"))}, nil, "192.0.2.1", []string{"192.0.2.3 new"}},
		{"what the request has reserved itself is", allocations{"1": owner("x")}, []Request{ask(owner("b")), ask(owner("a"))}, map[int]netip.Addr{1: addr("192.0.2.6")}, "192.0.2.6", []string{"192.0.2.3 new", "192.0.2.6 new"}},
		{"unless it was taken meanwhile", allocations{"6": owner("x")}, []Request{ask(owner("a"))}, map[int]netip.Addr{0: addr("192.0.2.6")}, "192.0.2.6", []string{"192.0.2.1 new"}},
		{"exhausted", allocations{"1": owner("x"), "3": owner("y"), "4": owner("z"), "5": owner("v")}, []Request{ask(owner("a")), ask(owner("b"))}, nil, "", []string{"192.0.2.6 new", "none"}},
		{"definitions with other parts of the network share the pool", allocations{"1": owner("a")}, []Request{{Range: upper, Owner: owner("a")}, ask(owner("b"))}, nil, "", []string{"192.0.2.4 new", "192.0.2.3 new"}},
		{"keys that are no offsets", allocations{"x": owner("a"), "-1": owner("a"), "99": owner("a")}, []Request{ask(owner("a"))}, nil, "", []string{"192.0.2.1 new"}},
	} {
		avoid := func(a netip.Addr) bool { return tt.avoid != "" && a == addr(tt.avoid) }
		var got []string
		for _, o := range Decide(tt.have, tt.requests, tt.held, avoid) {
			text := "none"
			if o.Address.IsValid() {
				text = o.Address.String()
			}
			if o.New {
				text += " new"
			}
			if o.Other.PodUID != "" {
				text += ", " + o.Other.PodUID
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", tt.why, diff)
		}
	}
}

// For all requests, in any order: no address outside, none that is excluded, none twice, none lost while there is one.
func TestDecideOverRandomPools(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		network := []string{"192.0.2.0/28", "fd00::/124", "192.0.2.0/31", "192.0.2.3-192.0.2.9/27"}[random.IntN(4)]
		r := rangeOf(t, network)
		for range random.IntN(3) {
			if a, ok := r.Address(strconv.Itoa(random.IntN(16))); ok && r.Size() > 1 {
				r.exclude(Span{a, a})
			}
		}
		have := map[string]Allocation{}
		live := map[string]Allocation{}
		for step := range 60 {
			var requests []Request
			for i := range random.IntN(4) {
				if random.IntN(3) == 0 && len(live) > 0 {
					for _, o := range live {
						requests = append(requests, Request{Range: r, Owner: o})
						break
					}
					continue
				}
				requests = append(requests, Request{Range: r, Owner: owner(strconv.Itoa(step*10 + i))})
			}
			for i, o := range Decide(have, requests, nil, func(netip.Addr) bool { return false }) {
				if !o.Address.IsValid() {
					if uint64(len(have)) < r.Size() {
						t.Fatalf("seed %d: %d of %d addresses are taken, and there is none", seed, len(have), r.Size())
					}
					continue
				}
				held, taken := have[r.Offset(o.Address)]
				if !r.Assignable(o.Address) || taken && held.PodUID != requests[i].Owner.PodUID || taken == o.New {
					t.Fatalf("seed %d: %+v gets %+v of %+v", seed, requests[i].Owner, o, held)
				}
				if before, ok := live[requests[i].Owner.PodUID]; ok && o.New {
					t.Fatalf("seed %d: %+v gets a second address", seed, before)
				}
				have[r.Offset(o.Address)], live[requests[i].Owner.PodUID] = requests[i].Owner, requests[i].Owner
			}
			for uid, o := range live {
				if random.IntN(3) == 0 {
					for _, offset := range Held(have, o.ContainerID, o.IfName) {
						delete(have, offset)
					}
					delete(live, uid)
				}
			}
		}
		if len(have) != len(live) {
			t.Fatalf("seed %d: %d addresses of %d owners", seed, len(have), len(live))
		}
	}
}

func TestAssignSlices(t *testing.T) {
	slice := func(node, network string) Slice { return Slice{node, network} }
	four := rangeOf(t, "192.0.2.0/24")
	six := rangeOf(t, "fd00::/64")
	for _, tt := range []struct {
		why     string
		r       Range
		bits    int
		held    []Slice
		nodes   []string
		inUse   string
		want    []Slice
		without []string
	}{
		{"nodes in order", four, 26, nil, []string{"b", "a", "a"}, "", []Slice{slice("a", "192.0.2.0/26"), slice("b", "192.0.2.64/26")}, nil},
		{"IPv6", six, 124, nil, []string{"a", "b"}, "", []Slice{slice("a", "fd00::/124"), slice("b", "fd00::10/124")}, nil},
		{"a node keeps its slice, one that is deleted too", four, 26, []Slice{slice("gone", "192.0.2.0/26"), slice("b", "192.0.2.128/26")}, []string{"a", "b"}, "",
			[]Slice{slice("gone", "192.0.2.0/26"), slice("b", "192.0.2.128/26"), slice("a", "192.0.2.64/26")}, nil},
		{"the slice of the node that was deleted first", four, 25, []Slice{slice("x", "192.0.2.0/25"), slice("y", "192.0.2.128/25")}, []string{"a"}, "",
			[]Slice{slice("y", "192.0.2.128/25"), slice("a", "192.0.2.0/25")}, nil},
		{"but not while it has addresses that are in use", four, 25, []Slice{slice("x", "192.0.2.0/25"), slice("y", "192.0.2.128/25")}, []string{"a", "b"}, "x",
			[]Slice{slice("x", "192.0.2.0/25"), slice("a", "192.0.2.128/25")}, []string{"b"}},
		{"slices that whereabouts lists for no node, of another length, of another range, twice", four, 26,
			[]Slice{slice("", "192.0.2.0/26"), slice("a", "192.0.2.0/27"), slice("a", "10.0.0.0/26"), slice("b", "192.0.2.64/26"), slice("c", "192.0.2.64/26"), slice("d", "x")}, []string{"a", "b", "c"}, "",
			[]Slice{slice("b", "192.0.2.64/26"), slice("a", "192.0.2.0/26"), slice("c", "192.0.2.128/26")}, nil},
		{"slices without an address that can be assigned", rangeOf(t, "192.0.2.0/29", "192.0.2.2/31"), 31, nil, []string{"a", "b", "c", "d"}, "",
			[]Slice{slice("a", "192.0.2.0/31"), slice("b", "192.0.2.4/31"), slice("c", "192.0.2.6/31")}, []string{"d"}},
		{"a range that begins later", rangeOf(t, "192.0.2.200-192.0.2.220/24"), 28, nil, []string{"a", "b", "c"}, "", []Slice{slice("a", "192.0.2.192/28"), slice("b", "192.0.2.208/28")}, []string{"c"}},
		{"the end of all addresses", rangeOf(t, "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fff0/124"), 126, nil, []string{"a", "b", "c", "d", "e"}, "",
			[]Slice{slice("a", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fff0/126"), slice("b", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fff4/126"), slice("c", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fff8/126"), slice("d", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126")}, []string{"e"}},
	} {
		got, without := AssignSlices(tt.r, tt.bits, tt.held, tt.nodes, func(s Slice) bool { return s.Node == tt.inUse })
		if diff := cmp.Diff(tt.want, got) + cmp.Diff(tt.without, without); diff != "" {
			t.Errorf("%s:\n%s", tt.why, diff)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	r := rangeOf(b, "10.0.0.0/16")
	have := map[string]Allocation{}
	for i := range 7500 {
		have[strconv.Itoa(i+1)] = owner(strconv.Itoa(i))
	}
	var requests []Request
	for i := range 100 {
		requests = append(requests, Request{Range: r, Owner: owner("new" + strconv.Itoa(i))})
	}
	for b.Loop() {
		Decide(have, requests, nil, func(netip.Addr) bool { return false })
	}
}
