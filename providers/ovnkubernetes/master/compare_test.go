package master

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/ovntest"
)

func TestCompareSouth(t *testing.T) {
	rows, _ := northbound.Rows(northbound.Input{Nodes: []northbound.Node{{Name: "a", Blocks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/23")}}}})
	ports, datapaths := northbound.LogicalPorts(rows)
	slices.Sort(ports)
	if want := []string{"k8s-a", "rtos-a", "stor-a"}; !slices.Equal(ports, want) {
		t.Fatalf("the ports of a node are %v, want %v", ports, want)
	}
	right := func() southView {
		v := southView{registered: registered{chassis: []chassisRow{{chassisTable, "a", "1"}, {privateTable, "a", "2"}}, encaps: map[string]string{"192.0.2.1": "a"}}, datapaths: datapaths}
		for _, p := range ports {
			v.bindings = append(v.bindings, binding{port: p})
		}
		v.bindings[0] = binding{"k8s-a", "a", true}
		return v
	}
	for _, tc := range []struct {
		why    string
		change func(*southView)
		others map[string]netip.Addr // nodes beside a
		want   []string
	}{
		{"as it should be", func(*southView) {}, nil, nil},
		{"the chassis of a node that does not exist, in both tables", func(v *southView) {
			v.chassis = append(v.chassis, chassisRow{chassisTable, "old", "3"}, chassisRow{privateTable, "old", "4"})
		}, nil, []string{`chassis: stale: row Chassis "old" (node old)`, `chassis: stale: row Chassis_Private "old" (node old)`}},
		{"no chassis of a node", func(v *southView) { v.chassis, v.encaps = nil, nil }, nil, []string{`chassis: missing: row Chassis "a" (node a)`}},
		{"no chassis of a node whose address another one has: that one decides", func(v *southView) {
			v.chassis, v.encaps = []chassisRow{{chassisTable, "b", "5"}}, map[string]string{"192.0.2.1": "b"}
		}, map[string]netip.Addr{"b": netip.MustParseAddr("192.0.2.1")}, nil},
		{"the port of a pod that does not exist", func(v *southView) { v.bindings = append(v.bindings, binding{port: "shop_web"}) }, nil,
			[]string{`southbound database: stale: row Port_Binding "shop_web" (pod shop/web)`}},
		{"no row of a port", func(v *southView) { v.bindings = v.bindings[:2] }, nil, []string{`southbound database: missing: row Port_Binding "stor-a" (node a)`}},
		{"the switch of a node that does not exist, and none of one that does", func(v *southView) { v.datapaths = []string{"ovn_cluster_router", "old"} }, nil,
			[]string{`southbound database: missing: row Datapath_Binding "a" (switch or router a)`, `southbound database: stale: row Datapath_Binding "old" (switch or router old)`}},
		{"no node has a port that must be connected", func(v *southView) { v.bindings[0] = binding{port: "k8s-a"} }, nil,
			[]string{`port bindings: missing: the binding of port "k8s-a" (node a): no node has the port; node a should`}},
		{"another node has it", func(v *southView) { v.bindings[0].chassis = "b" }, nil,
			[]string{`port bindings: different: the binding of port "k8s-a" (node a): node b has the port; node a should`}},
		{"its node has not installed its flows", func(v *southView) { v.bindings[0].up = false }, nil,
			[]string{`port bindings: different: the binding of port "k8s-a" (node a): node a has the port, but has not installed its flows`}},
	} {
		v := right()
		tc.change(&v)
		nodes := map[string]netip.Addr{"a": netip.MustParseAddr("192.0.2.1")}
		maps.Copy(nodes, tc.others)
		if diff := cmp.Diff(append([]string{}, tc.want...), ovntest.Sentences(compareSouth(rows, nodes, map[string]string{"k8s-a": "a"}, v))); diff != "" {
			t.Errorf("%s:\n%s", tc.why, diff)
		}
	}
}

func TestCompareNorth(t *testing.T) {
	for _, tc := range []struct {
		why  string
		d    ovsdb.Difference
		want string
	}{
		{"the port of a pod that does not exist", ovsdb.Difference{Ref: ovsdb.Ref{Table: "Logical_Switch_Port", Key: "shop_web"}, Kind: ovsdb.Stale},
			`northbound database: stale: row Logical_Switch_Port "shop_web" (pod shop/web)`},
		{"no load balancer of a Service", ovsdb.Difference{Ref: ovsdb.Ref{Table: "Load_Balancer", Key: "Service_shop/front_TCP_cluster"}, Kind: ovsdb.Missing},
			`northbound database: missing: row Load_Balancer "Service_shop/front_TCP_cluster" (Service shop/front)`},
		{"other addresses", ovsdb.Difference{Ref: ovsdb.Ref{Table: "Logical_Switch_Port", Key: "shop_web"}, Kind: ovsdb.Changed, Columns: []string{"addresses", "options"}},
			`northbound database: different: row Logical_Switch_Port "shop_web" (pod shop/web): other values are desired of addresses, options`},
		{"a copy", ovsdb.Difference{Ref: ovsdb.Ref{Table: "Logical_Switch", Key: "a"}, Kind: ovsdb.Duplicate, UUID: "u"},
			`northbound database: stale: row Logical_Switch "a" (node a): row u has the same key as another one`},
	} {
		if got := fmt.Sprint(ovntest.Sentences(compareNorth([]ovsdb.Difference{tc.d}))[0]); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.why, got, tc.want)
		}
	}
}
