package flows

import (
	"net/netip"
	"regexp"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// Outcome is the result of a packet trace through the bridge of one node.
type Outcome struct {
	// Ports are the ports of the pods that receive the packet. Kernel is true if the node's kernel receives it.
	Ports  []uint32
	Kernel bool
	// Tunnels are the nodes that receive copies. VNID is the VNID of the copies.
	Tunnels []netip.Addr
	VNID    uint32
}

// Dropped reports whether the packet is dropped.
func (o Outcome) Dropped() bool { return len(o.Ports) == 0 && !o.Kernel && len(o.Tunnels) == 0 }

var (
	outputText = regexp.MustCompile(`^(?:output:|output port is )(\d+)$`)
	tunnelText = regexp.MustCompile(`^set_field:([0-9.]+)->tun_dst$`)
	vnidText   = regexp.MustCompile(`^(?:NXM_NX_TUN_ID\[0..31\] is now (0x[0-9a-f]+|0)|set_field:(0x[0-9a-f]+|0)->tun_id)$`)
)

// OutcomeOf returns the outcome of a trace.
func OutcomeOf(t openflow.Trace) Outcome {
	var o Outcome
	var to netip.Addr
	for _, step := range t.Steps {
		for _, action := range step.Actions {
			if m := tunnelText.FindStringSubmatch(action); m != nil {
				if a, err := netip.ParseAddr(m[1]); err == nil {
					to = a
				}
			} else if m := vnidText.FindStringSubmatch(action); m != nil {
				if vnid, err := strconv.ParseUint(m[1]+m[2], 0, 32); err == nil {
					o.VNID = uint32(vnid)
				}
			} else if m := outputText.FindStringSubmatch(action); m != nil {
				o.output(m[1], to)
			}
		}
	}
	return o
}

func (o *Outcome) output(text string, to netip.Addr) {
	port, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return // no port has such a number
	}
	switch uint32(port) {
	case TunnelPort:
		o.Tunnels = append(o.Tunnels, to)
	case NodePort:
		o.Kernel = true
	default:
		o.Ports = append(o.Ports, uint32(port))
	}
}
