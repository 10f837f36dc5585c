package agentconfig

import (
	"net/netip"
	"strconv"
	"strings"
)

// ConfigKey is the key of flannel's network configuration.
func ConfigKey(prefix string) string { return prefix + "/config" }

// SubnetDir is what the keys of all leases begin with.
func SubnetDir(prefix string) string { return prefix + "/subnets/" }

// SubnetKey is the key of a lease, in flannel's form: 10.1.15.0-24, and 10.1.15.0-24&fd00:1::-64 if there is an
// IPv6 subnet too. The zero v6 means that there is none.
func SubnetKey(prefix string, v4, v6 netip.Prefix) string {
	key := SubnetDir(prefix) + keyPart(v4)
	if v6.IsValid() {
		key += "&" + keyPart(v6)
	}
	return key
}

func keyPart(p netip.Prefix) string { return p.Addr().String() + "-" + strconv.Itoa(p.Bits()) }

// ParseSubnetKey returns the subnets of a lease's key; v6 is zero if there is none. ok is false if the key is not
// that of a lease below prefix.
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

// parseKeyPart accepts only what keyPart writes, so that one subnet has one key.
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

// ReservationDir is what the keys of all reservations begin with.
func ReservationDir(prefix string) string { return prefix + "/cno/reservations/" }

// ReservationKey is the key of a node's reservation.
func ReservationKey(prefix, node string) string { return ReservationDir(prefix) + node }

// AgentDir is what the keys of all agents' reports begin with.
func AgentDir(prefix string) string { return prefix + "/cno/agents/" }

// AgentKey is the key of what a node's agent reports.
func AgentKey(prefix, node string) string { return AgentDir(prefix) + node }

// ParseNodeKey returns the node of a key below dir, which is ReservationDir or AgentDir. ok is false if the key
// is not one of them.
func ParseNodeKey(dir, key string) (node string, ok bool) {
	node, ok = strings.CutPrefix(key, dir)
	return node, ok && node != "" && !strings.Contains(node, "/")
}
