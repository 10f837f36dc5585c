package nmstate

// later describes an unknown version.
const later = "a version after 2.2.38"

// newerKey returns the version of NMState that introduced an unsupported key, and the reason why it is not supported; empty for all other keys.
// NetworkManager 1.42, the oldest supported version, silently ignores unknown settings.
func newerKey(object any, key string) (since, why string) {
	switch object.(type) {
	case IPv4, IPv6:
		if key == "forwarding" {
			return later, "NetworkManager 1.42 ignores it; set net.ipv4.conf.NAME.forwarding or net.ipv6.conf.NAME.forwarding in /etc/sysctl.d"
		}
	case Ethtool:
		if key == "fec" {
			return later, "NetworkManager 1.42 ignores it; set it with ethtool --set-fec, for example in a unit of systemd"
		}
	case HSR:
		if key == "interlink" {
			return later, "it needs NetworkManager 1.56; create the interface after the boot with ip link add type hsr interlink NAME"
		}
	case Route:
		if key == "vrf-name" {
			return later, "write the routing table of the VRF as table-id"
		}
	}
	return "", ""
}
