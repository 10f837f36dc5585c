package egressrouter

// Setting is a setting of the kernel in the pod's network namespace: a path below /proc/sys, and its value.
type Setting struct{ Name, Value string }

// LinkSettings are those of the attachment's interface before it is up: it has the addresses that it is given and no others, believes no router that
// announces itself, and answers for its own addresses only.
func LinkSettings(f Family, link string) []Setting {
	v4, v6 := "net/ipv4/conf/"+link+"/", "net/ipv6/conf/"+link+"/"
	// Two attachments of one pod may be on the same link; each would answer ARP for the address of the other.
	all := []Setting{{v4 + "arp_ignore", "1"}, {v4 + "arp_announce", "2"}, {v4 + "accept_redirects", "0"}}
	if f == IPv4 {
		return append(all, Setting{v6 + "disable_ipv6", "1"})
	}
	// The address is checked for being taken before it is set; the link-local one is made of the interface's own random MAC address.
	return append(all, Setting{v6 + "disable_ipv6", "0"}, Setting{v6 + "accept_ra", "0"}, Setting{v6 + "autoconf", "0"}, Setting{v6 + "accept_redirects", "0"},
		Setting{v6 + "accept_dad", "0"})
}

// PodSettings let the pod forward.
func PodSettings(f Family) []Setting {
	if f == IPv6 {
		return []Setting{{"net/ipv6/conf/all/forwarding", "1"}}
	}
	return []Setting{
		{"net/ipv4/ip_forward", "1"},
		// Routes to clients are those of their mark, which the strict check of sources does not know.
		{"net/ipv4/conf/" + ClientInterface + "/rp_filter", "2"},
	}
}

// Undo are the settings that end forwarding.
func Undo(f Family) []Setting {
	if f == IPv6 {
		return []Setting{{"net/ipv6/conf/all/forwarding", "0"}}
	}
	return []Setting{{"net/ipv4/ip_forward", "0"}}
}
