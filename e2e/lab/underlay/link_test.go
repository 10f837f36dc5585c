package underlay

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// TestLinksAreSeparateNetworks needs root: it makes namespaces.
func TestLinksAreSeparateNetworks(t *testing.T) {
	lab, err := topology.New(topology.Options{ControlPlanes: 1, Workers: 1, Family: topology.IPv4, MTU: testMTU, Links: 2})
	if err != nil {
		t.Fatal(err)
	}
	underlay := startUnderlay(t)
	pids := map[string]int{}
	for _, n := range lab.Machines() {
		pids[n.Name] = startNamespace(t, exec.Command("sleep", "1000"))
		if err := Attach(underlay, pids[n.Name], lab, n); err != nil {
			t.Fatal(err)
		}
	}
	worker := lab.Nodes[1]
	if out := run(t, pids[worker.Name], "ip", "-o", "addr", "show", "dev", "eth1", "scope", "global"); out != "" {
		t.Errorf("the node itself has an address on a link: %s", out)
	}
	if out := run(t, underlay, "ip", "-o", "addr", "show", "dev", "link1"); out != "" {
		t.Errorf("the switch of a link has an address: %s", out)
	}

	// What a pod does: a macvlan device on the node's interface, with an address of the link.
	pod := startNamespace(t, exec.Command("sleep", "1000"))
	run(t, pids[worker.Name], "ip", "link", "add", "pod0", "link", "eth1", "netns", fmt.Sprint(pod), "type", "macvlan", "mode", "bridge")
	for _, args := range []string{"addr add 10.90.1.20/24 dev pod0", "addr add fd90:1::20/64 dev pod0 nodad", "link set pod0 up"} {
		run(t, pod, append([]string{"ip"}, strings.Fields(args)...)...)
	}
	for _, a := range lab.Links[0].Outside().Addresses {
		ping(t, pod, a.String(), true)
	}
	if out := run(t, pod, "ip", "link", "show", "dev", "pod0"); !strings.Contains(out, "mtu 9000") {
		t.Errorf("a pod's interface does not have the MTU of its link: %s", out)
	}
	// The other link is another network: an address of it is not on this one.
	run(t, pod, "ip", "route", "add", "10.90.2.0/24", "dev", "pod0")
	ping(t, pod, lab.Links[1].Outside().Addresses[0].String(), false)

	if err := SetCable(underlay, worker.Name, "eth1", false); err != nil {
		t.Fatal(err)
	}
	ping(t, pod, "10.90.1.1", false)
	ping(t, pids[worker.Name], lab.Nodes[0].Primary().String(), true)
	if err := SetCable(underlay, worker.Name, "eth1", true); err != nil {
		t.Fatal(err)
	}
	ping(t, pod, "10.90.1.1", true)

	if err := Detach(underlay, lab, worker); err != nil {
		t.Fatal(err)
	}
	if out := run(t, underlay, "ip", "-o", "link"); strings.Contains(out, worker.Name) {
		t.Errorf("cables of the node are left:\n%s", out)
	}
}

// TestCableNamesFitDevices compares with the kernel's limit of 15 bytes.
func TestCableNamesFitDevices(t *testing.T) {
	for _, node := range []string{"cp-6", "worker-242", "outside9"} {
		if name := cableName(node, topology.Link{Number: 9}.Device()); len(name) > 15 {
			t.Errorf("%s has %d bytes", name, len(name))
		}
	}
}
