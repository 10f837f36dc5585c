package kernelstate

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// rules reads the kernel's rules without the library, which omits the actions of rules.
func rules() ([]livestate.Rule, error) {
	var out []livestate.Rule
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		request := nl.NewNetlinkRequest(unix.RTM_GETRULE, unix.NLM_F_DUMP|unix.NLM_F_REQUEST)
		request.AddData(nl.NewIfInfomsg(family))
		messages, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWRULE)
		if err != nil {
			return nil, fmt.Errorf("list rules: %w", err)
		}
		for _, m := range messages {
			rule, err := rule(m)
			if err != nil {
				return nil, fmt.Errorf("read a rule: %w", err)
			}
			out = append(out, rule)
		}
	}
	return out, nil
}

// rule reads a fib_rule_hdr of linux/fib_rules.h, which has the layout of an rtmsg, and its attributes.
func rule(message []byte) (livestate.Rule, error) {
	header := nl.DeserializeRtMsg(message)
	out := livestate.Rule{Family: 4, Table: int(header.Table), Action: ruleAction(header.Type), SuppressPrefixLength: -1}
	if header.Family == netlink.FAMILY_V6 {
		out.Family = 6
	}
	attributes, err := nl.ParseRouteAttr(message[header.Len():])
	if err != nil {
		return out, err
	}
	for _, a := range attributes {
		switch a.Attr.Type {
		case nl.FRA_SRC:
			out.From = prefixOf(a.Value, header.Src_len)
		case nl.FRA_DST:
			out.To = prefixOf(a.Value, header.Dst_len)
		case nl.FRA_IIFNAME:
			out.Interface = strings.TrimRight(string(a.Value), "\x00")
		case nl.FRA_PRIORITY:
			out.Priority = int(number(a.Value))
		case nl.FRA_TABLE:
			out.Table = int(number(a.Value))
		case nl.FRA_FWMARK:
			out.Mark = number(a.Value)
		case nl.FRA_FWMASK:
			out.Mask = number(a.Value)
		case nl.FRA_SUPPRESS_PREFIXLEN:
			out.SuppressPrefixLength = int(int32(number(a.Value))) // all ones is none
		}
	}
	return out, nil
}

func number(value []byte) uint32 {
	if len(value) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value)
}

func prefixOf(value []byte, length uint8) netip.Prefix {
	return netip.PrefixFrom(addr(value), int(length))
}

func ruleAction(t uint8) string {
	switch t {
	case unix.FR_ACT_BLACKHOLE:
		return "blackhole"
	case unix.FR_ACT_UNREACHABLE:
		return "unreachable"
	case unix.FR_ACT_PROHIBIT:
		return "prohibit"
	}
	return ""
}
