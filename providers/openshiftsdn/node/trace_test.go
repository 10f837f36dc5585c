package node_test

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// run runs a command of a trace for a node with the directories of that node.
func (c *cluster) run(ctx context.Context, command provider.TraceCommand) (string, error) {
	if command.Namespace != agentconfig.Namespace || command.App != "sdn" || command.Container != "sdn" {
		return "", fmt.Errorf("the command is for %+v", command)
	}
	for _, m := range c.nodes {
		if m.name != command.Node {
			continue
		}
		args := make([]string, len(command.Command))
		for i, a := range command.Command {
			args[i] = strings.NewReplacer(agentconfig.SwitchRunDir, m.config.SwitchRunDir, agentconfig.StateDir, m.config.StateDir).Replace(a)
		}
		if args[0] == "openshift-sdn-node" {
			return m.at.Try(append(append([]string{program}, args[1:]...), "--config", m.file)...)
		}
		out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%v: %w: %s", args, err, out)
		}
		return string(out), nil
	}
	return "", fmt.Errorf("there is no node %q", command.Node)
}

// spec is the specification of the network.
func (c *cluster) spec() *operatorv1.NetworkSpec {
	s := &operatorv1.NetworkSpec{ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: clusterNetwork, HostPrefix: 23}}, ServiceNetwork: []string{serviceNetwork}}
	s.DefaultNetwork.Type = operatorv1.NetworkTypeOpenShiftSDN
	s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: osv1.SDNMode(c.mode)}
	return s
}

func (p *pod) end() provider.TraceEnd {
	return provider.TraceEnd{Pod: types.NamespacedName{Namespace: p.ns, Name: p.name}, Node: p.m.name, Address: p.address}
}

// traced is a connection of which a trace and a packet must agree.
type traced struct {
	why     string
	from    *pod
	node    *machine // in place of from
	to      *pod
	port    uint16
	service string
	passes  bool
	named   string
}

// agrees compares the trace of a connection with a real one.
func (c *cluster) agrees(t *testing.T, row traced) {
	t.Helper()
	p := provider.TracePacket{To: row.to.end(), Protocol: corev1.ProtocolTCP, Port: row.port}
	from, address := "", fmt.Sprintf("%s:%d", row.to.address, row.port)
	if row.service != "" {
		p.Service = netip.MustParseAddrPort(row.service)
		address = row.service
	}
	limit := 2 * time.Second
	if row.passes {
		limit = eventually.Limit
	}
	var err error
	if row.from != nil {
		p.From, from = row.from.end(), row.from.name
		_, err = nodetest.Ask(row.from.Namespace, address, limit)
	} else {
		p.From, from = provider.TraceEnd{Node: row.node.name, Address: row.node.address}, row.node.name
		_, err = nodetest.Ask(row.node.at, address, limit)
	}
	steps, failure := openshiftsdn.New().Trace(t.Context(), provider.TraceAccess{Objects: c.client, Spec: c.spec(), Run: c.run}, p)
	if failure != nil {
		t.Errorf("%s: %v", row.why, failure)
		return
	}
	stopped, replies, text := false, 0, ""
	for _, s := range steps {
		stopped = stopped || s.Stops
		if s.Reply {
			replies++
		}
		text += fmt.Sprintf("%s: %s\n  %s\n", s.Where, s.What, strings.Join(s.Flows, "\n  "))
	}
	if (err == nil) != row.passes || stopped == row.passes {
		t.Errorf("%s: from %s to %s: the packet passes %t, the trace has %t, want %t:\n%s", row.why, from, address, err == nil, !stopped, row.passes, text)
	}
	if !strings.Contains(text, row.named) || row.passes != (replies > 0) {
		t.Errorf("%s: the trace does not name %q, or has not the steps of the reply (%d):\n%s", row.why, row.named, replies, text)
	}
}

// traceWithoutPort: an end without a port in the bridge stops the packet.
func traceWithoutPort(t *testing.T, c *cluster, from, to *pod) {
	t.Helper()
	end := from.end()
	absent := to.end()
	absent.Address = netip.MustParseAddr("10.128.2.250")
	for _, p := range []provider.TracePacket{
		{From: end, To: absent, Protocol: corev1.ProtocolTCP, Port: 80},
		{From: absent, To: end, Protocol: corev1.ProtocolTCP, Port: 80},
	} {
		steps, err := openshiftsdn.New().Trace(t.Context(), provider.TraceAccess{Objects: c.client, Spec: c.spec(), Run: c.run}, p)
		if err != nil || len(steps) == 0 || !steps[len(steps)-1].Stops {
			t.Errorf("%s to %s: %v %v", p.From.Address, p.To.Address, steps, err)
		}
	}
}

// notesKept waits until the agent has kept the notes of flows that name a policy.
func (m *machine) notesKept(t *testing.T, text string) {
	t.Helper()
	eventually.Holds(t, "the notes of flows are kept", func() (string, bool) {
		out, err := m.run(t.Context(), provider.TraceCommand{Namespace: agentconfig.Namespace, App: "sdn", Container: "sdn", Node: m.name, Command: []string{"cat", agentconfig.StateDir + "/" + agentconfig.NotesFile}})
		return fmt.Sprint(out, err), err == nil && strings.Contains(out, text)
	})
}
