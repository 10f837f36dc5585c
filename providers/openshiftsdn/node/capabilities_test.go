package node_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// privilege is a capability of a process.
type privilege struct{ process, capability string }

// privileges are all that processes of nodes have in tests, with what the logs or /readyz contain without each of them if Open vSwitch uses its userspace
// datapath.
var privileges = map[privilege]string{
	{"run", "net_admin"}:        "create interface tun0: operation not permitted",
	{"run", "net_raw"}:          "open a packet socket: operation not permitted",
	{"run", "sys_admin"}:        "create interface tun0: failed to set into network namespace",
	{"switch", "net_admin"}:     "failed to create bridge br0: Operation not permitted",
	{"switch", "net_raw"}:       "could not add network device underlay to ofproto",
	{"switch", "sys_admin"}:     "create network namespace",
	{"kube-proxy", "net_admin"}: "Operation not permitted",
}

// restricted returns a command line that runs a process with its capabilities, but for the one that the node lacks.
func (m *machine) restricted(process string, command ...string) []string {
	set := "-all"
	for p := range privileges {
		if p.process == process && p != m.without {
			set += ",+" + p.capability
		}
	}
	return append([]string{"setpriv", "--bounding-set=" + set, "--"}, command...)
}

// TestEachCapabilityIsNeeded: without one of the capabilities, a process reports what it cannot do. All other tests show that these capabilities suffice.
func TestEachCapabilityIsNeeded(t *testing.T) {
	if kernelDatapath(t) {
		return
	}
	c := newCluster(t, agentconfig.NetworkPolicy)
	c.namespace("one", 10)
	c.assign("one", "192.0.2.200")
	nodes := map[privilege]*machine{}
	proxies := map[privilege]*nodetest.Process{}
	for p := range privileges {
		m := c.stopped()
		m.without, nodes[p] = p, m
		if p.process == "kube-proxy" {
			proxies[p] = m.runProxy("nftables")
			continue
		}
		if p == (privilege{"run", "net_raw"}) {
			m.has("192.0.2.200")
		}
		m.startSwitch()
		m.startAgent()
	}
	for p, text := range privileges {
		eventually.Holds(t, p.process+" reports that it has no "+p.capability, func() (string, bool) {
			m, out := nodes[p], ""
			if proxy := proxies[p]; proxy != nil {
				out = proxy.Log()
			} else {
				ready, _ := m.readyz()
				out = ready + m.switchd.Log() + m.agent.Log()
			}
			return out, strings.Contains(out, text)
		})
	}
}

// TestCapabilitiesAreDocumented compares the capabilities with those that the page of the program lists.
func TestCapabilitiesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/programs/openshift-sdn-node.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1]+" "+row[2])
	}
	for p := range privileges {
		want = append(want, p.process+" "+strings.ToUpper(p.capability))
	}
	slices.Sort(documented)
	slices.Sort(want)
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("capabilities (-of processes in tests +documented):\n%s", diff)
	}
}
