package main

import (
	"slices"
	"strings"
)

// comparison compares one figure of a benchmark with a goal or another figure.
type comparison struct {
	// benchmark is its name without "Benchmark", unit the one of the figure.
	benchmark, unit string
	what            string
	// goal is the limit for the figure; -1 is none.
	goal float64
	// times, if not 0, has the goal as a multiple of the figure to compare with.
	times float64
	// other is the figure to compare with, 0 is none; otherUnit is a unit of the same run to compare with instead.
	other     float64
	otherUnit string
	// otherBenchmark is the benchmark of otherUnit; empty is the same one.
	otherBenchmark string
	// whose is the source of that figure.
	whose string
	// more is true if higher figures are better.
	more bool
}

const (
	peer    = "peer"
	sameRun = "same run"
	none    = -1
)

// comparisons are all figures with a goal or a figure to compare with, in the order of the table. The peer is the operator that OpenShift
// ships, measured on the same kind of machine; docs/benchmarks.md has the method.
func comparisons() []comparison {
	return slices.Concat(operatorFigures(), largeFigures(), partFigures(), ovnFigures(), sdnFigures(), labFigures())
}

func operatorFigures() []comparison {
	return []comparison{
		{benchmark: "Operator/field-changed", unit: "p99-ms", what: "one field changed, all applied, p99", goal: 150, other: 28_000, whose: peer},
		{benchmark: "Operator/operand-deleted", unit: "p99-ms", what: "operand deleted, restored, p99", goal: 200, other: 210_000, whose: peer},
		{benchmark: "Operator/operand-edited", unit: "p99-ms", what: "operand edited, restored, p99", goal: 200, other: 210_000, whose: peer},
		{benchmark: "Operator/idle", unit: "reads/min", what: "reads a minute, idle", goal: 0, other: 19, whose: peer},
		{benchmark: "Operator/idle", unit: "writes/min", what: "writes a minute, idle", goal: 0, other: 41, whose: peer},
		{benchmark: "Operator/idle", unit: "lease/min", what: "renewals of the lease a minute", goal: none, other: 2.2, whose: peer},
		{benchmark: "Operator/restart", unit: "requests", what: "requests of a restart", goal: 30, other: 442, whose: peer},
		{benchmark: "Operator/ended", unit: "p50-ms", what: "ended in order, the next has the lease", goal: none, other: 30, whose: peer},
		{benchmark: "Operator/crashed", unit: "p99-ms", what: "crashed, the next has the lease, longest", goal: 17_000, other: 165_000, whose: peer},
		{benchmark: "RenderEverything", unit: "ns/op", what: "everything rendered", goal: 10e6, other: 1e9, whose: peer},
	}
}

func largeFigures() []comparison {
	return []comparison{
		{benchmark: "LargeCluster/memory", unit: "rss-MB", what: "resident, 5,000 nodes", goal: 60, other: 387, whose: peer},
		{benchmark: "LargeCluster/memory-restarted", unit: "rss-MB", what: "resident after a restart, 5,000 nodes", goal: 60, other: 387, whose: peer},
		{benchmark: "LargeCluster/memory-with-pods", unit: "rss-MB", what: "resident, 5,000 nodes, 50,000 pods", goal: 60, other: 387, whose: peer},
		{benchmark: "LargeCluster/rolling", unit: "peak-MB", what: "peak while a DaemonSet rolls over 5,000 nodes", goal: none, other: 1078, whose: peer},
		{benchmark: "LargeCluster/rolling", unit: "peak/idle", what: "that peak, of the memory before", goal: 1.3, other: 1078.0 / 387, whose: peer},
		{benchmark: "LargeCluster/condition", unit: "p99-ms", what: "a workload's change to the condition, 5,000 nodes, p99", goal: 250, other: 6600, whose: peer + " (median)"},
		{benchmark: "LargeCluster/idle", unit: "writes/min", what: "writes a minute, idle, 5,000 nodes", goal: 0, other: 41, whose: peer},
		{benchmark: "FiveThousandNodes", unit: "s/signed", what: "5,000 certificates signed, s", goal: 60, other: 13_000, whose: peer + " (2.6 s each)"},
		{benchmark: "FiveThousandNodes", unit: "node-lists", what: "lists of all nodes meanwhile", goal: 0, other: 15_000, whose: peer + " (3 each)"},
		{benchmark: "FanOut", unit: "s/CA", what: "a new CA in 1,000 ConfigMaps, s", goal: 10, other: 200, whose: peer + " (computed)"},
		{benchmark: "ReconcileOf5000Nodes", unit: "MB-kept", what: "connectivity checks of 5,000 nodes in memory", goal: none},
	}
}

func partFigures() []comparison {
	const page = "PagesOfFiveThousandNodes"
	return []comparison{
		{benchmark: page, unit: "paint-ms", what: "cno ui with 5,000 nodes, until the first paint", goal: 1000},
		{benchmark: page, unit: "map-ms", what: "cno ui with 5,000 nodes, until the map has all of them", goal: 1000},
		{benchmark: page, unit: "filter-ms", what: "cno ui with 5,000 nodes, a filter until it is painted", goal: none},
		{benchmark: "Admission/policies=true", unit: "ns/op", what: "a request that the policies evaluate", goal: none,
			otherUnit: "ns/op", otherBenchmark: "Admission/policies=false", whose: sameRun + ", without policies"},
		{benchmark: "PlanOfOneChange/plan", unit: "ns/op", what: "plan of one change on a live cluster", goal: none,
			otherUnit: "ns/op", otherBenchmark: "PlanOfOneChange/one-by-one", whose: sameRun + ", every object in a dry run"},
		{benchmark: "DocumentToImage", unit: "documents/s", what: "documents a second, packed into an image", goal: none, more: true},
		{benchmark: "Generate", unit: "documents/s", what: "documents a second, made into keyfiles", goal: none, more: true},
		{benchmark: "MachineConfigOf500Hosts", unit: "%limit", what: "a role of 500 hosts, % of what an object may be", goal: 100},
		{benchmark: "RouteOfANewPeer/others=1000", unit: "p99-ms", what: "a new node's lease to its route on another, p99", goal: none},
		{benchmark: "Status/version=1.1.0", unit: "status-p99-ms", what: "CNI STATUS of the shim for further networks, p99", goal: 20,
			otherUnit: "floor-p99-ms", whose: sameRun + ", the plugin by hand"},
		{benchmark: "Size", unit: "cno-MB", what: "the binary cno, linux, uncompressed", goal: 40},
		{benchmark: "Size", unit: "cno-download-MB", what: "the binary cno, linux, as downloaded (gzip)", goal: 40},
		{benchmark: "Size", unit: "image-MB", what: "the operator's image, uncompressed", goal: 60},
		{benchmark: "Size", unit: "image-download-MB", what: "the operator's image, as downloaded (gzip)", goal: 60},
	}
}

// ovnFigures are those of OVN-Kubernetes, without a lab.
func ovnFigures() []comparison {
	const bridge = sameRun + ", a bridge that only learns addresses"
	return []comparison{
		{benchmark: "PodToPodBesideABridge/stream", unit: "pod-Gbit/s", what: "OVN: one TCP stream, pods of two nodes", goal: none, otherUnit: "bridge-Gbit/s", whose: bridge, more: true},
		{benchmark: "PodToPodBesideABridge/stream", unit: "%bridge", what: "that, % of the bridge's", goal: 80, more: true},
		{benchmark: "PodToPodBesideABridge/round-trips", unit: "pod-/s", what: "OVN: round trips between pods of two nodes, a second", goal: none, otherUnit: "bridge-/s", whose: bridge, more: true},
		{benchmark: "PodToPodBesideABridge/round-trips", unit: "%bridge", what: "that, % of the bridge's", goal: 80, more: true},
		{benchmark: "Master/first", unit: "peak-MB", what: "OVN: peak memory of the master, 500 nodes, 5,000 pods", goal: none},
		{benchmark: "Master/restarted", unit: "cpu-s", what: "OVN: CPU seconds of a restart of that master", goal: none},
		{benchmark: "Master/idle", unit: "cpu-ms/min", what: "OVN: CPU of that master in an idle minute, ms", goal: none},
		{benchmark: "Master/idle", unit: "northbound-B/min", what: "OVN: bytes written to the northbound database in an idle minute", goal: 0},
		{benchmark: "Master/idle", unit: "southbound-B/min", what: "OVN: bytes written to the southbound database in an idle minute", goal: 0},
	}
}

// sdnFigures are those of OpenShiftSDN, without a lab.
func sdnFigures() []comparison {
	const byOpenVSwitch = sameRun + ", ovs-vsctl and ovs-ofctl"
	const normal, tenth, watch = sameRun + ", action NORMAL", sameRun + ", a tenth of the objects", sameRun + ", bare watch"
	all := []comparison{
		{benchmark: "PolicyOf200Pods", unit: "flows", what: "a policy of 200 pods, 200 peers and two ports, flows", goal: 3*(200+200) + 16, otherUnit: "product-flows", whose: sameRun + ", the product"},
		{benchmark: "PolicyOf200Pods", unit: "policy-ms", what: "that, until its flows are installed", goal: none, otherUnit: "product-ms", whose: sameRun + ", the product in one bundle"},
		{benchmark: "PolicyOf200Pods", unit: "policy/product", what: "that, of the time of the product", goal: 0.2},
		{benchmark: "PolicyOf200Pods", unit: "pod-flows", what: "one more pod in that policy, flows changed", goal: 8},
		{benchmark: "PolicyOf200Pods", unit: "pod/pod-of-20", what: "that, of the time in a policy of 20 pods and 20 peers", goal: 1.5},
		{benchmark: "RestartOfOpenVSwitch", unit: "restored-ms", what: "ovs-vswitchd answers, until it has the flows of 250 pods, 500 nodes and 200 policies", goal: none,
			otherUnit: "replace-flows-ms", whose: sameRun + ", replace-flows"},
		{benchmark: "RestartOfOpenVSwitch", unit: "restored/replace-flows", what: "that, of the time of replace-flows", goal: 2},
		{benchmark: "AgentOf500Nodes", unit: "start-ms", what: "start of a node's agent, 500 nodes, 5,000 pods, 1,000 namespaces and policies", goal: none, otherUnit: "tenth-start-ms", whose: tenth},
		{benchmark: "AgentOf500Nodes", unit: "start/tenth", what: "that, of the time with a tenth of the objects", goal: 12},
		{benchmark: "AgentOf500Nodes", unit: "rss-MB", what: "resident, that agent", goal: none, otherUnit: "tenth-rss-MB", whose: tenth},
		{benchmark: "AgentOf500Nodes", unit: "rss/tenth", what: "that, of the memory with a tenth of the objects", goal: 8},
		{benchmark: "AgentOf500Nodes", unit: "idle-requests", what: "requests of that agent in 20 idle seconds, without watches", goal: 0},
		{benchmark: "AgentOf500Nodes", unit: "idle-bytes", what: "bytes that it has written to disk in that time", goal: 0},
		{benchmark: "Controller/5000_nodes,_10000_namespaces", unit: "ratio", what: "blocks and VNIDs of 5,000 nodes and 10,000 namespaces, of the time of a client that only writes", goal: 1.5},
		{benchmark: "Controller/5000_nodes,_10000_namespaces", unit: "writes-of-a-restart", what: "writes of a restart of that controller", goal: 0},
	}
	for _, parallel := range []string{"1", "10", "100"} {
		all = append(all,
			comparison{benchmark: "AddOfPods/parallel=" + parallel, unit: "add-p99-ms", what: "CNI ADD, " + parallel + " at once, p99", goal: none, otherUnit: "hand-p99-ms", whose: byOpenVSwitch},
			comparison{benchmark: "AddOfPods/parallel=" + parallel, unit: "rate/hand", what: "that, pods a second, of the rate by hand", goal: 10, more: true},
			comparison{benchmark: "AddOfPods/parallel=" + parallel, unit: "port-rate/hand", what: "the port alone, without flows and CNI, of the rate by hand", goal: none, more: true})
	}
	for _, change := range []struct{ name, what string }{
		{"policy/created", "a NetworkPolicy"}, {"policy/label", "the label of a pod"}, {"netnamespace", "a NetNamespace"}, {"node", "a node, with 500 others"},
	} {
		all = append(all,
			comparison{benchmark: "FirstPacket/" + change.name, unit: "packet-p99-ms", what: change.what + ", written until a packet passes, p99", goal: none, otherUnit: "watch-p99-ms", whose: watch},
			comparison{benchmark: "FirstPacket/" + change.name, unit: "after-p99-ms", what: "that, after the bare watch, p99", goal: 100})
	}
	for _, path := range []struct {
		name, what, unit, peer, whose string
		stream, rtt                   float64
	}{
		{"one-node", "pods of one node", "pod", "normal", normal, 80, 130}, {"two-nodes", "pods of two nodes", "pod", "normal", normal, 80, 130},
		{"service", "a Service", "service", "pod", sameRun + ", its endpoint", 40, 250},
	} {
		name := "Traffic/" + path.name
		all = append(all,
			comparison{benchmark: name, unit: path.unit + "-Gbit/s", what: "one TCP stream, " + path.what, goal: none, otherUnit: path.peer + "-Gbit/s", whose: path.whose, more: true},
			comparison{benchmark: name, unit: "%stream", what: "that, % of the other", goal: path.stream, more: true},
			comparison{benchmark: name, unit: path.unit + "-rtt-us", what: "a byte there and back, " + path.what, goal: none, otherUnit: path.peer + "-rtt-us", whose: path.whose},
			comparison{benchmark: name, unit: "%rtt", what: "that, % of the other", goal: path.rtt})
	}
	for i, c := range all {
		if !strings.HasPrefix(c.what, "that, ") {
			all[i].what = "SDN: " + c.what
		}
	}
	return all
}

// labFigures are those of the lab, on any network.
func labFigures() []comparison {
	all := []comparison{{benchmark: "FromNetworkToAvailable", unit: "s", what: "from the Network to Available, s", goal: none}}
	for _, at := range []struct{ parallel, what string }{{"1", ""}, {"10", ", 10 at once"}, {"100", ", 100 at once"}} {
		for _, quantile := range []string{"p50", "p99"} {
			all = append(all, comparison{benchmark: "CNI/parallel=" + at.parallel, unit: "add-" + quantile + "-ms", what: "CNI ADD" + at.what + ", " + quantile,
				goal: none, otherUnit: "floor-add-" + quantile + "-ms", whose: byHand})
		}
	}
	all = append(all, comparison{benchmark: "CNI/parallel=1", unit: "del-p50-ms", what: "CNI DEL, p50", goal: none, otherUnit: "floor-del-p50-ms", whose: byHand})
	return slices.Concat(all, furtherFigures(), changeFigures(), trafficFigures())
}

// byHand is the floor of additions and deletions of pod networks: bridge with host-local, and portmap.
const byHand = sameRun + ", standard plugins by hand"

// furtherFigures are of pods that ask for further networks, and of those that do not while further networks are served.
func furtherFigures() []comparison {
	const (
		plain = sameRun + ", the default network by libcni"
		floor = sameRun + ", the same plugins by libcni and one write to the API"
	)
	var all []comparison
	for _, at := range []struct{ parallel, what string }{{"1", ""}, {"10", ", 10 at once"}, {"100", ", 100 at once"}} {
		name, what := "FurtherNetworks/networks=0/parallel="+at.parallel, ", no further network"+at.what
		all = append(all,
			comparison{benchmark: name, unit: "add-p50-ms", what: "CNI ADD" + what + ", p50", goal: none, times: 1.4, otherUnit: "plain-add-p50-ms", whose: plain},
			comparison{benchmark: name, unit: "add-p99-ms", what: "CNI ADD" + what + ", p99", goal: none, times: 1.5, otherUnit: "plain-add-p99-ms", whose: plain},
			comparison{benchmark: name, unit: "del-p50-ms", what: "CNI DEL" + what + ", p50", goal: none, times: 1.3, otherUnit: "plain-del-p50-ms", whose: plain})
		for _, with := range []struct {
			networks, what string
			times          float64
		}{{"1", ", 1 further network", 2.5}, {"2", ", 2 further networks", 3.5}} {
			name, what := "FurtherNetworks/networks="+with.networks+"/parallel="+at.parallel, with.what+at.what
			all = append(all,
				comparison{benchmark: name, unit: "add-p50-ms", what: "CNI ADD" + what + ", p50", goal: none, times: 1.3, otherUnit: "floor-add-p50-ms", whose: floor},
				comparison{benchmark: name, unit: "add-p99-ms", what: "CNI ADD" + what + ", p99", goal: none, times: 1.3, otherUnit: "floor-add-p99-ms", whose: floor},
				comparison{benchmark: name, unit: "add-p50-ms", what: "that p50, beside the default network", goal: none, times: with.times, otherUnit: "plain-add-p50-ms", whose: plain},
				comparison{benchmark: name, unit: "del-p50-ms", what: "CNI DEL" + what + ", p50", goal: none, times: 1.3, otherUnit: "floor-del-p50-ms", whose: floor})
		}
	}
	return append(all,
		comparison{benchmark: "FurtherAddresses", unit: "whereabouts-p50-ms", what: "CNI ADD, 1 further network, whereabouts, 100 at once, p50", goal: none, times: 2,
			otherUnit: "static-p50-ms", whose: sameRun + ", static addresses"},
		comparison{benchmark: "FurtherAddresses", unit: "whereabouts-p99-ms", what: "CNI ADD, 1 further network, whereabouts, 100 at once, p99", goal: none, times: 2,
			otherUnit: "static-p99-ms", whose: sameRun + ", static addresses"},
		comparison{benchmark: "FurtherMemory", unit: "rest-MB", what: "daemon for further networks, resident, at rest", goal: none},
		comparison{benchmark: "FurtherMemory", unit: "peak-MB", what: "that, at most, 200 pods with a further network at once", goal: 64 << 20 / 1e6},
		comparison{benchmark: "FurtherPolicy", unit: "blocked-p99-ms", what: "a MultiNetworkPolicy, written until a connection is blocked, p99", goal: none,
			otherUnit: "watch-blocked-p99-ms", whose: sameRun + ", bare watch"},
		comparison{benchmark: "FurtherPolicy", unit: "answered-p99-ms", what: "a MultiNetworkPolicy, written until a connection is allowed, p99", goal: none,
			otherUnit: "watch-answered-p99-ms", whose: sameRun + ", bare watch"})
}

// changeFigures are of changes among 500 other Services and NetworkPolicies.
func changeFigures() []comparison {
	const goal, bareWatch = 500, sameRun + ", bare watch"
	return []comparison{
		{benchmark: "Change/service", unit: "answered-p99-ms", what: "a Service, written until a connection is answered, p99", goal: goal, otherUnit: "watch-p99-ms", whose: bareWatch},
		{benchmark: "Change/service", unit: "answered-p99-ms", what: "that, beside its EndpointSlice", goal: none, otherUnit: "watch-slice-p99-ms", whose: bareWatch},
		{benchmark: "Change/policy", unit: "blocked-p99-ms", what: "a NetworkPolicy, written until a connection is blocked, p99", goal: goal, otherUnit: "watch-blocked-p99-ms", whose: bareWatch},
		{benchmark: "Change/policy", unit: "answered-p99-ms", what: "a NetworkPolicy, written until a connection is allowed, p99", goal: goal, otherUnit: "watch-answered-p99-ms", whose: bareWatch},
	}
}

// trafficFigures are of the placements of the lab's benchmark.
func trafficFigures() []comparison {
	var all []comparison
	for _, at := range []string{"one-CPU", "two-CPUs"} {
		name, where := "PodToPodAcrossNodes/"+at, ", ends on "+strings.Replace(at, "-", " ", 1)
		all = append(all,
			comparison{benchmark: name, unit: "pod-Gbit/s", what: "one TCP stream between pods" + where, goal: none, otherUnit: "node-Gbit/s", whose: sameRun + ", nodes", more: true},
			comparison{benchmark: name, unit: "%throughput", what: "that, % of the nodes' own", goal: 95, more: true},
			comparison{benchmark: name, unit: "pod-rtt-us", what: "a byte there and back between pods" + where, goal: none, otherUnit: "node-rtt-us", whose: sameRun + ", nodes"},
			comparison{benchmark: name, unit: "%rtt", what: "that, % of the nodes' own", goal: 115},
			comparison{benchmark: name, unit: "node-rtt-us", what: "a byte there and back between the nodes" + where, goal: none, otherUnit: "veth-rtt-us", whose: sameRun + ", bare veth pair"})
	}
	return all
}
