package egressrouter

// Setting is a sysctl in the pod's network namespace: a path below /proc/sys, and its value.
type Setting struct{ Name, Value string }

// LinkSettings returns the settings of the attachment's interface before it is up: it has no other addresses than the configured ones, ignores router
// advertisements and redirects, and answers ARP only for its own addresses.
func LinkSettings(f Family, link string) []Setting {
	v4, v6 := "net/ipv4/conf/"+link+"/", "net/ipv6/conf/"+link+"/"
	// Two attachments of one pod may be on the same link; each would answer ARP for the address of the other.
	all := []Setting{{v4 + "arp_ignore", "1"}, {v4 + "arp_announce", "2"}, {v4 + "accept_redirects", "0"}}
	if f == IPv4 {
		return append(all, Setting{v6 + "disable_ipv6", "1"})
	}
	// The plugin itself checks that the address is unused; the link-local address is derived from the interface's random MAC address.
	return append(all, Setting{v6 + "disable_ipv6", "0"}, Setting{v6 + "accept_ra", "0"}, Setting{v6 + "autoconf", "0"}, Setting{v6 + "accept_redirects", "0"},
		Setting{v6 + "accept_dad", "0"})
}

// PodSettings returns the settings that enable forwarding in the pod.
func PodSettings(f Family) []Setting {
	if f == IPv6 {
		return []Setting{{"net/ipv6/conf/all/forwarding", "1"}}
	}
	return []Setting{
		{"net/ipv4/ip_forward", "1"},
		// The strict reverse path filter ignores marks, and with them the routes to clients.
		{"net/ipv4/conf/" + ClientInterface + "/rp_filter", "2"},
	}
}

// Undo returns the settings that disable forwarding.
func Undo(f Family) []Setting {
	if f == IPv6 {
		return []Setting{{"net/ipv6/conf/all/forwarding", "0"}}
	}
	return []Setting{{"net/ipv4/ip_forward", "0"}}
}
