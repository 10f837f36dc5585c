package flannel

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

var _ provider.Tracer = Flannel{}

// Carries describes how the network transports packets.
func (Flannel) Carries(spec *operatorv1.NetworkSpec) provider.Carriage {
	c := provider.Carriage{
		Unenforced: "Flannel does not enforce NetworkPolicies",
		Between:    "the routes of the nodes, which name the other node as the next hop",
		Translates: "kube-proxy on the node of the client",
		Leaves:     "masquerades the packet with its own address",
		Reserved:   []string{"the bridge of the node"},
	}
	if s := settings(spec); s.Backend == operatorv1.FlannelBackendVXLAN {
		c.Between = "VXLAN"
		if s.VXLAN != nil && s.VXLAN.Port != nil {
			c.Between = fmt.Sprintf("VXLAN, UDP port %d", *s.VXLAN.Port)
		}
	}
	return c
}

// Trace reads the routes of the packet and of its reply from the nodes of both ends.
func (Flannel) Trace(ctx context.Context, at provider.TraceAccess, p provider.TracePacket) ([]provider.TraceStep, error) {
	if at.Run == nil {
		return nil, nil
	}
	steps, err := route(ctx, at, p.From.Node, p.To.Address, false)
	if err != nil || !p.To.IsPod() {
		return steps, err
	}
	if p.To.Node != p.From.Node {
		arriving, err := route(ctx, at, p.To.Node, p.To.Address, false)
		if steps = append(steps, arriving...); err != nil {
			return steps, err
		}
	}
	for _, s := range steps {
		if s.Stops {
			return steps, nil
		}
	}
	back, err := route(ctx, at, p.To.Node, p.From.Address, true)
	return append(steps, back...), err
}

// route returns the interface through which packets to an address leave a node.
func route(ctx context.Context, at provider.TraceAccess, node string, to netip.Addr, reply bool) ([]provider.TraceStep, error) {
	out, err := at.Run(ctx, provider.TraceCommand{
		Namespace: record.Namespace, App: agentApp, Node: node, Container: agentApp, Command: []string{"ip", "route", "get", to.String()},
	})
	step := provider.TraceStep{Reply: reply, Where: "routes of node " + node}
	switch {
	case err != nil && strings.Contains(err.Error(), "unreachable"):
		step.Stops, step.What = true, "no route leads to "+to.String()
	case err != nil:
		return nil, err
	default:
		line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		words := strings.Fields(line)
		via, device := "", ""
		for i, w := range words[:max(len(words)-1, 0)] {
			switch w {
			case "via":
				via = words[i+1]
			case "dev":
				device = words[i+1]
			}
		}
		step.What = fmt.Sprintf("to %s by interface %s%s", to, cmp.Or(device, "(none)"), nextHop(via))
		step.Flows = []string{line}
	}
	return []provider.TraceStep{step}, nil
}

func nextHop(via string) string {
	if via == "" {
		return ""
	}
	return ", next hop " + via
}
