package image

import (
	"io/fs"
	"path"
)

// alternative is a link that a maintainer script of Debian 12 would create with update-alternatives.
type alternative struct{ name, target string }

// alternatives returns the links of the packages in use. They are created if their target is in the image.
func alternatives() []alternative {
	links := []alternative{
		{"usr/bin/awk", "mawk"},
		{"usr/bin/nc", "nc.openbsd"},
		{"usr/bin/netcat", "nc.openbsd"},
		{"usr/bin/which", "which.debianutils"},
		{"usr/sbin/ovs-vswitchd", "../lib/openvswitch-switch/ovs-vswitchd"},
	}
	// nftables is the back end with the higher priority for each of these tools.
	for _, tool := range []string{"iptables", "ip6tables", "arptables", "ebtables"} {
		for _, suffix := range []string{"", "-save", "-restore"} {
			links = append(links, alternative{"usr/sbin/" + tool + suffix, tool + "-nft" + suffix})
		}
	}
	return links
}

// addAlternatives makes the links whose target is there and whose name is free. The links are relative and
// direct: the step by way of /etc/alternatives serves only an administrator who changes them.
func (t tree) addAlternatives() {
	for _, a := range alternatives() {
		if _, ok := t[path.Join(path.Dir(a.name), a.target)]; !ok {
			continue
		}
		if _, taken := t[a.name]; !taken {
			t.add(a.name, entry{mode: fs.ModeSymlink | 0o777, link: a.target})
		}
	}
}
