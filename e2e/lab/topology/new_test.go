package topology

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewLaysOutNodes(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"the default: control plane first, addresses in order": {
			Options{ControlPlanes: 1, Workers: 2, Family: IPv4},
			[]string{"cp-0 control-plane [10.89.0.11]", "worker-0 worker [10.89.0.12]", "worker-1 worker [10.89.0.13]"},
		},
		"IPv6 nodes have no other address": {
			Options{ControlPlanes: 1, Family: IPv6},
			[]string{"cp-0 control-plane [fd89::b]"},
		},
		"dual-stack nodes have IPv4 first": {
			Options{ControlPlanes: 1, Workers: 1, Family: DualStack},
			[]string{"cp-0 control-plane [10.89.0.11 fd89::b]", "worker-0 worker [10.89.0.12 fd89::c]"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			topology, err := New(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, describe(topology)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewReportsAllErrorsAtOnce(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"no control plane, more workers than addresses": {
			Options{Workers: 1000, Family: IPv4},
			[]string{"0 control-plane nodes: a lab has 1 to 7", "1000 workers"},
		},
		"host bits, and too small for a name server": {
			Options{ControlPlanes: 1, Family: IPv4, ServiceNetwork: prefixes("10.96.0.1/30")},
			[]string{"host bits set, write 10.96.0.0/30", "too small"},
		},
		"one prefix where two families are": {
			Options{ControlPlanes: 1, Family: DualStack, ServiceNetwork: prefixes("10.96.0.0/16")},
			[]string{`IP family "dual" takes 2`},
		},
		"the wrong family": {
			Options{ControlPlanes: 1, Family: IPv6, ServiceNetwork: prefixes("10.96.0.0/16")},
			[]string{"not of the family"},
		},
		"links that do not carry IPv6": {
			Options{ControlPlanes: 1, Family: IPv4, MTU: 1279},
			[]string{"an MTU of 1279 bytes between nodes: it must be 1280 to 65535"},
		},
		"more links than there are networks": {
			Options{ControlPlanes: 1, Family: IPv4, Links: 10},
			[]string{"10 links: a lab has 0 to 9"},
		},
		"DHCP on links that there are not": {
			Options{ControlPlanes: 1, Family: IPv4, Links: 1, DHCP: []int{1, 0, 2}},
			[]string{"DHCP on link 0: this lab has 1 links", "DHCP on link 2"},
		},
		"services where a link is": {
			Options{ControlPlanes: 1, Family: IPv4, Links: 2, ServiceNetwork: prefixes("10.90.2.0/24")},
			[]string{"overlaps the network 10.90.2.0/24 of link 2"},
		},
		"services where the nodes are": {
			Options{ControlPlanes: 1, Family: IPv4, ServiceNetwork: prefixes("10.0.0.0/8")},
			[]string{"overlaps the nodes' own network 10.89.0.0/24"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.options)
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestWorkersAreAddedAndRemoved(t *testing.T) {
	lab, err := New(Options{ControlPlanes: 1, Workers: 2, Family: IPv4})
	if err != nil {
		t.Fatal(err)
	}
	before := describe(lab)
	without, err := lab.RemoveWorker("worker-0")
	if err != nil {
		t.Fatal(err)
	}
	again, n, err := without.AddWorker()
	if err != nil {
		t.Fatal(err)
	}
	if n.Name != "worker-0" || n.Primary() != netip.MustParseAddr("10.89.0.12") {
		t.Errorf("the free name and address were not given again: %v", n)
	}
	more, n, err := again.AddWorker()
	if err != nil {
		t.Fatal(err)
	}
	if n.Name != "worker-2" || len(more.Nodes) != 4 {
		t.Errorf("the next worker is %v", n)
	}
	if diff := cmp.Diff(before, describe(lab)); diff != "" {
		t.Errorf("the topology they came from has changed:\n%s", diff)
	}
}

func TestRemoveWorkerRefuses(t *testing.T) {
	lab, err := New(Options{ControlPlanes: 1, Workers: 1, Family: IPv4})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"cp-0":     "only workers can be removed",
		"worker-7": "there are cp-0, worker-0",
	} {
		if _, err := lab.RemoveWorker(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("remove %s: %v, want %q", name, err, want)
		}
	}
}

func TestAddWorkerFailsWithoutFreeAddresses(t *testing.T) {
	lab, err := New(Options{ControlPlanes: 1, Workers: lastHost - firstHost, Family: IPv4})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := lab.AddWorker(); err == nil {
		t.Error("there are more workers than addresses")
	}
}

func describe(t Topology) []string {
	var lines []string
	for _, n := range t.Nodes {
		addrs := make([]string, 0, len(n.Addresses))
		for _, a := range n.Addresses {
			addrs = append(addrs, a.String())
		}
		lines = append(lines, n.Name+" "+string(n.Role)+" ["+strings.Join(addrs, " ")+"]")
	}
	return lines
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}
