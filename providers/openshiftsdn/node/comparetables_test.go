package node

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const printed = "table ip t {\n\tcounter held {\n\t\tpackets 1\n\t}\n\n\tmap pods {\n\t\ttype ipv4_addr : verdict\n\t\telements = { 10.0.0.1 : jump policy-1, 10.0.0.2 : jump policy-1,\n\t\t\t     10.0.0.3 : drop }\n\t}\n\n" +
	"\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t\tudp dport { 1, 2 } drop\n\t\tip saddr vmap @pods\n\t}\n}\n"

func TestTableBlocks(t *testing.T) {
	want := map[string]tableBlock{
		"map pods":      {[]string{"type ipv4_addr : verdict"}, []string{"10.0.0.1 : jump policy-1", "10.0.0.2 : jump policy-1", "10.0.0.3 : drop"}},
		"chain forward": {[]string{"type filter hook forward priority filter; policy accept;"}, []string{"udp dport { 1, 2 } drop", "ip saddr vmap @pods"}},
	}
	if diff := cmp.Diff(want, tableBlocks(printed), cmp.AllowUnexported(tableBlock{})); diff != "" {
		t.Error(diff)
	}
}

// TestTablesThatDiffer: which chain, map and object, once for each object.
func TestTablesThatDiffer(t *testing.T) {
	const head, rules = "table ip t {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n", "\t\tip saddr 10.0.0.1 drop\n\t\taccept\n"
	const tail = "\t}\n}\n"
	table := nftTable{family: knftables.IPv4Family, name: "t", chains: []chain{{name: "forward", rules: []string{"ip saddr 10.0.0.1 drop", "accept"}}}}
	for _, row := range []struct {
		why, had, live string
		unwritten      bool
		want           []string
	}{
		{why: "equal", had: head + rules + tail, live: head + rules + tail},
		{why: "missing", had: head + rules + tail, want: []string{"table ip t does not exist"}},
		{why: "other objects", had: head + rules + tail, live: head + rules + tail, unwritten: true, want: []string{"table ip t does not have the rules that objects ask for"}},
		{why: "a rule is removed", had: head + rules + tail, live: head + "\t\taccept\n" + tail, want: []string{"table ip t, chain forward lacks 1 rule: pod shop/web"}},
		{why: "rules are added", had: head + rules + tail, live: head + rules + "\t\tdrop\n\t\treject\n" + tail,
			want: []string{"table ip t, chain forward has 2 rules that the agent has not written"}},
		{why: "another order", had: head + rules + tail, live: head + "\t\taccept\n\t\tip saddr 10.0.0.1 drop\n" + tail, want: []string{"table ip t, chain forward has its rules in another order"}},
		{why: "a chain is removed", had: head + rules + tail, live: "table ip t {\n}\n", want: []string{"table ip t, chain forward is missing"}},
		{why: "a chain is added", had: head + rules + tail, live: head + rules + "\t}\n\tchain other {\n" + tail, want: []string{"table ip t, chain other is not the agent's"}},
	} {
		kept := &managedTable{desired: table.text(), recorded: row.had}
		if row.unwritten {
			kept.desired = "before"
		}
		d := desiredTable{nftTable: table, managed: kept, owners: map[string]string{"10.0.0.1": "pod shop/web"}}
		if diff := cmp.Diff(row.want, whats(t, d.differences(row.live, ""))); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
		for _, found := range d.differences(row.live, "nft: no permission") {
			if !strings.HasPrefix(found.Cause, "nft: no permission") {
				t.Errorf("%s: the cause is %q", row.why, found.Cause)
			}
		}
	}
}

// TestTableChangedByAThirdPartyIsRewritten: what the kernel has right after a table was written is compared with what was written.
func TestTableChangedByAThirdPartyIsRewritten(t *testing.T) {
	table := nftTable{
		family: knftables.IPv4Family, name: "t", chains: []chain{{name: "forward", rules: []string{"udp dport { 1, 2 } drop", "ip saddr vmap @pods"}}},
		collections: []collection{{name: "pods", isMap: true, elements: []element{{key: []string{"10.0.0.1"}}, {key: []string{"10.0.0.2"}}, {key: []string{"10.0.0.3"}}}}, {name: "seen", timeout: 1}},
	}
	for _, row := range []struct{ why, printed, want string }{
		{"as it was written", printed, ""},
		{"a rule is removed", strings.Replace(printed, "\t\tudp dport { 1, 2 } drop\n", "", 1), "chain forward"},
		{"a rule is added", strings.Replace(printed, "\t\tudp dport", "\t\taccept\n\t\tudp dport", 1), "chain forward"},
		{"an element is removed", strings.Replace(printed, "10.0.0.1 : jump policy-1, ", "", 1), "map pods"},
		{"the table is removed", "", "chain forward"},
	} {
		err := table.checkListed(row.printed)
		if got := err != nil; got != (row.want != "") || got && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

// TestTheTableOfTheUnderlayIsCompared: like the agent's own tables.
func TestTheTableOfTheUnderlayIsCompared(t *testing.T) {
	const arriving = "table ip cno-ovs-underlay {\n\tchain arriving {\n\t\ttype filter hook prerouting priority raw; policy accept;\n" +
		"\t\tip daddr 192.0.2.1 udp dport 4789 notrack ip daddr set 169.254.100.1\n\t\tiifname \"ovs-underlay\" udp dport 4789 notrack\n\t}\n\n"
	const leaving = "\tchain leaving {\n\t\ttype filter hook postrouting priority srcnat; policy accept;\n"
	const rule, tail = "\t\tip saddr 169.254.100.1 udp dport 4789 ip saddr set 192.0.2.1\n", "\t}\n}\n"
	table := underlayRules(agentconfig.Config{VXLANPort: 4789}, netip.MustParseAddr("192.0.2.1"))
	if err := table.checkListed(arriving + leaving + rule + tail); err != nil {
		t.Errorf("what nft prints of it: %v", err)
	}
	kept := &managedTable{desired: table.text(), recorded: arriving + leaving + rule + tail}
	d := desiredTable{nftTable: table, managed: kept, owners: map[string]string{"192.0.2.1": "the tunnels of node a"}}
	if diff := cmp.Diff([]string{"table ip cno-ovs-underlay, chain leaving lacks 1 rule: the tunnels of node a"}, whats(t, d.differences(arriving+leaving+tail, ""))); diff != "" {
		t.Error(diff)
	}
}
