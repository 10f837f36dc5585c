package agentconfig

import (
	"net/netip"
	"strconv"
	"strings"
)

// ConfigKey returns the key of flannel's network configuration.
func ConfigKey(prefix string) string { return prefix + "/config" }

// SubnetDir returns the key prefix of all leases.
func SubnetDir(prefix string) string { return prefix + "/subnets/" }

// SubnetKey returns the key of a lease in flannel's form: 10.1.15.0-24, or 10.1.15.0-24&fd00:1::-64 with an IPv6 subnet. The zero v6 means no IPv6 subnet.
func SubnetKey(prefix string, v4, v6 netip.Prefix) string {
	key := SubnetDir(prefix) + keyPart(v4)
	if v6.IsValid() {
		key += "&" + keyPart(v6)
	}
	return key
}

func keyPart(p netip.Prefix) string { return p.Addr().String() + "-" + strconv.Itoa(p.Bits()) }

// ParseSubnetKey returns the subnets in the key of a lease; v6 is zero if there is none. ok is false if key is not that of a lease below prefix.
func ParseSubnetKey(prefix, key string) (v4, v6 netip.Prefix, ok bool) {
	rest, found := strings.CutPrefix(key, SubnetDir(prefix))
	if !found {
		return v4, v6, false
	}
	first, second, dual := strings.Cut(rest, "&")
	if v4, ok = parseKeyPart(first); !ok || !v4.Addr().Is4() {
		return netip.Prefix{}, netip.Prefix{}, false
	}
	if !dual {
		return v4, v6, true
	}
	if v6, ok = parseKeyPart(second); !ok || !is6(v6.Addr()) {
		return netip.Prefix{}, netip.Prefix{}, false
	}
	return v4, v6, true
}

// parseKeyPart accepts only the output of keyPart, so that a subnet has exactly one key.
func parseKeyPart(s string) (netip.Prefix, bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return netip.Prefix{}, false
	}
	p, err := netip.ParsePrefix(s[:i] + "/" + s[i+1:])
	if err != nil || p != p.Masked() || keyPart(p) != s {
		return netip.Prefix{}, false
	}
	return p, true
}

// ReservationDir returns the key prefix of all reservations.
func ReservationDir(prefix string) string { return prefix + "/cno/reservations/" }

// ReservationKey returns the key of a node's reservation.
func ReservationKey(prefix, node string) string { return ReservationDir(prefix) + node }

// AgentDir returns the key prefix of all agents' reports.
func AgentDir(prefix string) string { return prefix + "/cno/agents/" }

// AgentKey returns the key of the report of a node's agent.
func AgentKey(prefix, node string) string { return AgentDir(prefix) + node }

// ParseNodeKey returns the node of a key below dir, which is ReservationDir or AgentDir. ok is false for any other key.
func ParseNodeKey(dir, key string) (node string, ok bool) {
	node, ok = strings.CutPrefix(key, dir)
	return node, ok && node != "" && !strings.Contains(node, "/")
}
