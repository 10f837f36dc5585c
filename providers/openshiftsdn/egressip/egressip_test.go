package egressip_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

var states = map[string]egressip.State{"?": egressip.Unknown, "+": egressip.Online, "~": egressip.Held, "-": egressip.Offline}

// full writes out .5 as 192.0.2.5, so that tables are readable.
func full(short string) string {
	if strings.HasPrefix(short, ".") {
		return "192.0.2" + short
	}
	return short
}

// read makes objects of short forms. A node is NAME STATE CIDRS | ADDRESSES, with + for online, - for offline, ~ for not ready, and ? for
// unknown; the letter of its name gives its own address, .201 for a. A namespace is NAME ADDRESSES.
func read(t *testing.T, nodes, namespaces []string) (egressip.Cluster, []egressip.Problem) {
	t.Helper()
	known := map[string]egressip.State{}
	var subnets []*sdnv1.HostSubnet
	for _, text := range nodes {
		left, right, _ := strings.Cut(text, "|")
		f := strings.Fields(left)
		s := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: f[0]}, Host: f[0], HostIP: fmt.Sprint("192.0.2.", 201+int(f[0][0]-'a'))}
		known[f[0]] = states[f[1]]
		for _, c := range f[2:] {
			s.EgressCIDRs = append(s.EgressCIDRs, full(c))
		}
		for _, a := range strings.Fields(right) {
			s.EgressIPs = append(s.EgressIPs, full(a))
		}
		subnets = append(subnets, s)
	}
	var all []*sdnv1.NetNamespace
	for i, text := range namespaces {
		f := strings.Fields(text)
		n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: f[0]}, NetName: f[0], NetID: uint32(10 + i)}
		if f[0] == "shared" || f[0] == "twin" {
			n.NetID = 7000
		}
		for _, a := range f[1:] {
			n.EgressIPs = append(n.EgressIPs, full(a))
		}
		all = append(all, n)
	}
	inside := []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14"), netip.MustParsePrefix("10.96.0.0/16")}
	return egressip.Read(subnets, all, inside, true, func(n string) egressip.State { return known[n] })
}

func sentences(all []egressip.Problem) []string {
	var out []string
	for _, p := range all {
		out = append(out, fmt.Sprintf("%s %s: %s", p.Reason, p.Object.(metav1.Object).GetName(), p.Message))
	}
	slices.Sort(out)
	return out
}

// lists are the addresses of nodes, as NAME ADDRESSES.
func lists(all map[string][]netip.Addr) []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		line := n
		for _, a := range all[n] {
			line += strings.Replace(" "+a.String(), "192.0.2", "", 1)
		}
		out = append(out, line)
	}
	return out
}

func TestAssign(t *testing.T) {
	const whole = ".0/24"
	for _, test := range []struct {
		reason     string
		nodes      []string
		namespaces []string
		want       []string // after one step
		settled    []string // after all steps, if it differs
		problems   []string
	}{
		{reason: "each node gets one", nodes: []string{"a + " + whole, "b + " + whole}, namespaces: []string{"x .1", "y .2"}, want: []string{"a .1", "b .2"}},
		{reason: "a namespace gets its addresses on different nodes", nodes: []string{"a + " + whole, "b + " + whole}, namespaces: []string{"x .1 .2"}, want: []string{"a .1", "b .2"}},
		{reason: "a node takes only what its networks contain", nodes: []string{"a + .0/28", "b + .16/28"}, namespaces: []string{"x .17", "y .18"}, want: []string{"a", "b .17 .18"}},
		{reason: "what one node alone offers comes first", nodes: []string{"a + .0/24", "b + .16/28"}, namespaces: []string{"x .1 .17"}, want: []string{"a .1", "b .17"}},
		{reason: "then namespaces that ask for few: y gets its only one although x was first by name", nodes: []string{"a + " + whole, "b + " + whole},
			namespaces: []string{"x .1 .2 .3", "y .4"}, want: []string{"a .4 .2", "b .1"},
			problems: []string{"EgressIPUnassigned x: no node can take egress IP 192.0.2.3: those that offer it (2) are offline, or have another address of the namespace; add its network to egressCIDRs of another HostSubnet"}},
		{reason: "addresses in place stay, however uneven, while no node has less than half of its share", nodes: []string{"a + " + whole + " | .1 .2", "b + " + whole + " | .3"},
			namespaces: []string{"v .1", "w .2", "x .3"}, want: []string{"a .1 .2", "b .3"}},
		{reason: "a new address goes to the node with the fewest", nodes: []string{"a + " + whole + " | .1 .2", "b + " + whole + " | .3"}, namespaces: []string{"v .1", "w .2", "x .3", "y .4"},
			want: []string{"a .1 .2", "b .3 .4"}},
		{reason: "an address that no namespace asks for leaves", nodes: []string{"a + " + whole + " | .1 .2"}, namespaces: []string{"x .2"}, want: []string{"a .2"}},
		{reason: "an address that is outside of the networks now leaves, and moves in the next step", nodes: []string{"a + .16/28 | .1", "b + .0/28"}, namespaces: []string{"x .1"},
			want: []string{"a", "b"}, settled: []string{"a", "b .1"}},
		{reason: "an address that an administrator gave to another node leaves", nodes: []string{"a + " + whole + " | .1", "b + | .1"}, namespaces: []string{"x .1"}, want: []string{"a"}},
		{reason: "an address of an administrator is not given", nodes: []string{"a + " + whole, "b + | .1"}, namespaces: []string{"x .1"}, want: []string{"a"}},
		{reason: "what two nodes have stays on one", nodes: []string{"a + " + whole + " | .1", "b + " + whole + " | .1"}, namespaces: []string{"x .1"}, want: []string{"a .1", "b"}},
		{reason: "on the one that is not offline", nodes: []string{"a - " + whole + " | .1", "b + " + whole + " | .1"}, namespaces: []string{"x .1"}, want: []string{"a", "b .1"}},
		{reason: "a second address of a namespace on one node leaves", nodes: []string{"a + " + whole + " | .1 .2", "b + " + whole}, namespaces: []string{"x .1 .2"}, want: []string{"a .1", "b"}, settled: []string{"a .1", "b .2"}},
		{reason: "what two namespaces ask for is not given", nodes: []string{"a + " + whole}, namespaces: []string{"x .1", "y .1"}, want: []string{"a"}},
		{reason: "and stays where it is, until one gives way", nodes: []string{"a - " + whole + " | .1", "b + " + whole}, namespaces: []string{"x .1", "y .1"}, want: []string{"a .1", "b"}},

		{reason: "from an offline node: removed in this step, given in the next", nodes: []string{"a - " + whole + " | .1 .2", "b + " + whole, "c + " + whole}, namespaces: []string{"x .1", "y .2"},
			want: []string{"a", "b", "c"}, settled: []string{"a", "b .1", "c .2"}},
		{reason: "no other node can take them: they stay", nodes: []string{"a - " + whole + " | .1", "b + .16/28"}, namespaces: []string{"x .1"}, want: []string{"a .1", "b"}},
		{reason: "all are offline, as the controller's own node is cut off: nothing moves", nodes: []string{"a - " + whole + " | .1", "b - " + whole + " | .2"}, namespaces: []string{"x .1", "y .2"}, want: []string{"a .1", "b .2"}},
		{reason: "only what the other node can take leaves", nodes: []string{"a - " + whole + " | .1", "b - " + whole + " | .2", "c + " + whole}, namespaces: []string{"x .1 .2"},
			want: []string{"a", "b .2", "c"}, settled: []string{"a", "b .2", "c .1"}},
		{reason: "a node that was not probed yet keeps its addresses and gets none", nodes: []string{"a ? " + whole + " | .1", "b ? " + whole}, namespaces: []string{"x .1", "y .2"}, want: []string{"a .1", "b"}},
		{reason: "so does one whose Node is not ready but whose tunnel address answers", nodes: []string{"a ~ " + whole + " | .1", "b + " + whole}, namespaces: []string{"x .1", "y .2"}, want: []string{"a .1", "b .2"}},
		{reason: "a node is back, and gets some", nodes: []string{"a + " + whole, "b + " + whole + " | .1 .2 .3 .4"}, namespaces: []string{"u .1", "v .2", "w .3", "x .4"},
			want: []string{"a", "b .2 .3 .4"}, settled: []string{"a .1", "b .2 .3 .4"}},
		{reason: "with one address on two nodes nothing moves back", nodes: []string{"a + " + whole, "b + " + whole + " | .1"}, namespaces: []string{"x .1"}, want: []string{"a", "b .1"}},
		{reason: "nothing is balanced while a node is unknown", nodes: []string{"a + " + whole, "b + " + whole + " | .1 .2 .3 .4", "c ? " + whole}, namespaces: []string{"u .1", "v .2", "w .3", "x .4"},
			want: []string{"a", "b .1 .2 .3 .4", "c"}},
		{reason: "values that cannot be read leave", nodes: []string{"a + " + whole + " | 192.0.2.300 .1"}, namespaces: []string{"x .1"}, want: []string{"a .1"},
			problems: []string{`EgressIPInvalid a: egress IP "192.0.2.300" is no IPv4 address: write one such as 192.0.2.100`}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			c, found := read(t, test.nodes, test.namespaces)
			have, more := egressip.Assign(c)
			if diff := cmp.Diff(test.want, lists(have)); diff != "" {
				t.Errorf("after a step:\n%s", diff)
			}
			if diff := cmp.Diff(test.problems, sentences(slices.Concat(found, more))); diff != "" {
				t.Errorf("problems:\n%s", diff)
			}
			if test.settled == nil {
				test.settled = test.want
			}
			for range 5 {
				for i := range c.Nodes {
					if len(c.Nodes[i].CIDRs) > 0 {
						c.Nodes[i].Addresses = have[c.Nodes[i].Name]
					}
				}
				have, _ = egressip.Assign(c)
			}
			if diff := cmp.Diff(test.settled, lists(have)); diff != "" {
				t.Errorf("after all steps:\n%s", diff)
			}
		})
	}
}

// TestStepsEnd changes nodes and namespaces at random. Steps must end soon, no address may be on two nodes, none where it may not be, and
// none may be unused that an online node could take.
func TestStepsEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		var nodes, namespaces []string
		for i := range 2 + r.IntN(5) {
			text := fmt.Sprintf("%c %s", 'a'+i, []string{"+", "+", "+", "-", "~", "?"}[r.IntN(6)])
			for range r.IntN(3) {
				text += []string{" .0/24", " .0/28", " .16/28"}[r.IntN(3)]
			}
			text += " |"
			for range r.IntN(6) {
				text += fmt.Sprint(" .", r.IntN(32))
			}
			nodes = append(nodes, text)
		}
		for i := range r.IntN(12) {
			text := fmt.Sprintf("n%02d", i)
			for range 1 + r.IntN(3) {
				text += fmt.Sprint(" .", r.IntN(32))
			}
			namespaces = append(namespaces, text)
		}
		c, _ := read(t, nodes, namespaces)
		settle(t, c, fmt.Sprint("round ", round, nodes, namespaces))
	}
}

func settle(t *testing.T, c egressip.Cluster, where string) {
	t.Helper()
	for step := range 40 {
		had := map[netip.Addr]string{}
		for _, n := range c.Nodes {
			for _, a := range n.Addresses {
				had[a] = n.Name
			}
		}
		next, _ := egressip.Assign(c)
		changed := false
		for i := range c.Nodes {
			n := &c.Nodes[i]
			list, automatic := next[n.Name]
			if !automatic {
				continue
			}
			for _, a := range list {
				if from := had[a]; from != "" && from != n.Name && !slices.Contains(n.Addresses, a) {
					t.Fatalf("%s, step %d: %s is assigned to %s while %s has it", where, step, a, n.Name, from)
				}
			}
			changed = changed || !slices.Equal(n.Addresses, list)
			n.Addresses = list
		}
		if !changed {
			unused(t, c, where)
			uses, _ := egressip.Resolve(c)
			for _, n := range c.Namespaces {
				for _, p := range uses[n.Name].Places {
					if !slices.Contains(n.Addresses, p.Address) {
						t.Fatalf("%s: namespace %s uses %s", where, n.Name, p.Address)
					}
				}
			}
			return
		}
	}
	t.Fatalf("%s: the steps do not end", where)
}

// unused fails if no node has an address that one namespace requests and an online node could have.
func unused(t *testing.T, c egressip.Cluster, where string) {
	t.Helper()
	requesters, taken, owner := map[netip.Addr]int{}, map[netip.Addr]bool{}, map[netip.Addr]string{}
	for _, n := range c.Namespaces {
		for _, a := range n.Addresses {
			requesters[a]++
			owner[a] = n.Name
		}
	}
	for _, n := range c.Nodes {
		for _, a := range n.Addresses {
			taken[a] = true
		}
	}
	for a, name := range owner {
		if requesters[a] != 1 || taken[a] {
			continue
		}
		for _, n := range c.Nodes {
			offers := slices.ContainsFunc(n.CIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
			other := slices.ContainsFunc(n.Addresses, func(one netip.Addr) bool { return owner[one] == name || requesters[one] > 1 })
			if n.State == egressip.Online && offers && !other {
				t.Fatalf("%s: %s is unused, and %s could take it", where, a, n.Name)
			}
		}
	}
}

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		reason     string
		nodes      []string
		namespaces []string
		want       string
		problems   []string
	}{
		{reason: "one asks, one has it", nodes: []string{"a + | .1"}, namespaces: []string{"x .1"}, want: "x: .1 on a"},
		{reason: "several addresses, in the order in which they are asked for", nodes: []string{"a + | .1", "b + | .2"}, namespaces: []string{"x .2 .1"}, want: "x: .2 on b, .1 on a"},
		{reason: "no node has it: nothing is used, and an administrator has to act", nodes: []string{"a + | .3"}, namespaces: []string{"x .1"}, want: "x:",
			problems: []string{"EgressIPUnassigned x: no node has egress IP 192.0.2.1: add it to egressIPs of a HostSubnet, or its network to egressCIDRs of some"}},
		{reason: "no node has it yet, but one offers it", nodes: []string{"a + .0/24"}, namespaces: []string{"x .1"}, want: "x:"},
		{reason: "two namespaces ask for it: both are dropped, also what could use another one", nodes: []string{"a + | .1", "b + | .2"}, namespaces: []string{"x .1 .2", "y .1"}, want: "x: dropped; y: dropped",
			problems: []string{
				"EgressIPConflict x: namespace y asks for egress IP 192.0.2.1, too: what both send outside of the cluster is dropped; remove it from one of them",
				"EgressIPConflict y: namespace x asks for egress IP 192.0.2.1, too: what both send outside of the cluster is dropped; remove it from one of them"}},
		{reason: "two nodes have it", nodes: []string{"a + | .1", "b + | .1"}, namespaces: []string{"x .1"}, want: "x: dropped",
			problems: []string{
				"EgressIPConflict a: egress IP 192.0.2.1 is on node b, too: no namespace uses it; remove it from one of them",
				"EgressIPConflict b: egress IP 192.0.2.1 is on node a, too: no namespace uses it; remove it from one of them",
				"EgressIPConflict x: egress IP 192.0.2.1 is on more than one node (a and b): what the namespace sends outside of the cluster is dropped; remove it from all but one"}},
		{reason: "two addresses on one node: the first is used", nodes: []string{"a + | .1 .2"}, namespaces: []string{"x .2 .1"}, want: "x: .2 on a",
			problems: []string{"EgressIPConflict x: egress IP 192.0.2.1 is on node a, which has another one of this namespace: it is not used; move it to another node"}},
		{reason: "a VNID that namespaces share: nodes could not tell which of them a packet is from", nodes: []string{"a + | .1"}, namespaces: []string{"shared .1", "twin", "x .2"}, want: "shared: dropped; x:",
			problems: []string{
				"EgressIPConflict shared: the namespace shares VNID 7000 with twin: what its pods send outside of the cluster is dropped, as egress IPs need a VNID of their own; isolate it with cno pod-network isolate-projects, or remove egressIPs",
				"EgressIPUnassigned x: no node has egress IP 192.0.2.2: add it to egressIPs of a HostSubnet, or its network to egressCIDRs of some"}},
		{reason: "nothing of what it asks for can be used: dropped, never sent with the address of a node", nodes: []string{"a + | .1"}, namespaces: []string{"x 10.128.0.9", "y 127.0.0.1", "z .201"},
			want: "x: dropped; y: dropped; z: dropped",
			problems: []string{
				`EgressIPInvalid x: egress IP "10.128.0.9" lies in the cluster network or the Service CIDR: write one of the nodes' network`,
				`EgressIPInvalid y: egress IP "127.0.0.1" cannot be the source of packets: write a unicast address of the nodes' network`,
				"EgressIPInvalid z: egress IP 192.0.2.201 is the address of node a itself: choose one that no host has"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			c, found := read(t, test.nodes, test.namespaces)
			uses, more := egressip.Resolve(c)
			var texts []string
			for _, name := range slices.Sorted(maps.Keys(uses)) {
				var places []string
				for _, p := range uses[name].Places {
					places = append(places, strings.TrimPrefix(p.Address.String(), "192.0.2")+" on "+p.Node)
				}
				if uses[name].Dropped != "" {
					places = append(places, "dropped")
				}
				texts = append(texts, strings.TrimSpace(name+": "+strings.Join(places, ", ")))
			}
			if have := strings.Join(texts, "; "); have != test.want {
				t.Errorf("uses are %s\nwant %s", have, test.want)
			}
			if diff := cmp.Diff(test.problems, sentences(slices.Concat(found, more))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
