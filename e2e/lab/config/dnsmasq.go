package config

import (
	"fmt"

	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// Dnsmasq is the name of the unit that leases addresses on a link. It runs on the host outside.
const Dnsmasq = "dnsmasq"

// leaseTime is the shortest that dnsmasq supports. Clients renew a lease after half of it, which tests wait for.
const leaseTime = "2m"

// outsideUnits returns the units of an outside host.
func outsideUnits(host Node) []supervisor.Unit {
	l, err := host.LinkOf(host.Node)
	if err != nil || !l.DHCP {
		return nil
	}
	first, last := l.Leases()
	u := unit(Dnsmasq,
		"--keep-in-foreground",
		"--conf-file=/dev/null",
		"--user=root", "--pid-file=",
		// No name server: port 53 is left to tests.
		"--port=0",
		"--interface="+underlay.Device, "--bind-interfaces",
		"--dhcp-authoritative",
		// Otherwise it probes every address for three seconds before it offers it.
		"--no-ping",
		fmt.Sprintf("--dhcp-range=%s,%s,%s", first, last, leaseTime),
		// On the disk, leases survive a power-off of the host.
		"--dhcp-leasefile=/var/lib/dnsmasq.leases",
		"--log-facility=-", "--log-dhcp",
	)
	u.Path = "/usr/sbin/" + Dnsmasq
	return []supervisor.Unit{u}
}
