package nmstate

// later stands for a version whose number is not certain.
const later = "a version after 2.2.38"

// newerKey names the version of NMState in which a key appeared that is not supported here, and why it is not; empty for all
// other keys. NetworkManager 1.42, the oldest that files are made for, ignores what it does not know without a word.
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
