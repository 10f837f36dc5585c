package nmconn

import "github.com/cluster-network-operator/cno/internal/dayone/nmstate"

func (i *iface) writeEthtool(k keyfile) {
	e := i.Ethtool
	if e == nil {
		return
	}
	k.section("ethtool")
	if p := e.Pause; p != nil {
		k.set("ethtool", "pause-autoneg", p.Autoneg)
		if p.Autoneg != nil && !*p.Autoneg {
			k.set("ethtool", "pause-rx", p.RX)
			k.set("ethtool", "pause-tx", p.TX)
		}
	}
	for name, on := range e.Feature {
		k.set("ethtool", "feature-"+featureName(name), on)
	}
	if e.Coalesce != nil {
		writeCoalesce(k, e.Coalesce)
	}
	if r := e.Ring; r != nil {
		k.set("ethtool", "ring-rx", r.RX)
		k.set("ethtool", "ring-rx-jumbo", r.RXJumbo)
		k.set("ethtool", "ring-rx-mini", r.RXMini)
		k.set("ethtool", "ring-tx", r.TX)
	}
}

func writeCoalesce(k keyfile, c *nmstate.Coalesce) {
	for key, v := range map[string]any{
		"adaptive-rx": digit(c.AdaptiveRX), "adaptive-tx": digit(c.AdaptiveTX),
		"pkt-rate-high": c.PktRateHigh, "pkt-rate-low": c.PktRateLow,
		"rx-frames": c.RXFrames, "rx-frames-high": c.RXFramesHigh, "rx-frames-irq": c.RXFramesIRQ, "rx-frames-low": c.RXFramesLow,
		"rx-usecs": c.RXUsecs, "rx-usecs-high": c.RXUsecsHigh, "rx-usecs-irq": c.RXUsecsIRQ, "rx-usecs-low": c.RXUsecsLow,
		"sample-interval": c.SampleInterval, "stats-block-usecs": c.StatsBlockUsecs,
		"tx-frames": c.TXFrames, "tx-frames-high": c.TXFramesHigh, "tx-frames-irq": c.TXFramesIRQ, "tx-frames-low": c.TXFramesLow,
		"tx-usecs": c.TXUsecs, "tx-usecs-high": c.TXUsecsHigh, "tx-usecs-irq": c.TXUsecsIRQ, "tx-usecs-low": c.TXUsecsLow,
	} {
		k.set("ethtool", "coalesce-"+key, v)
	}
}

// featureName returns NetworkManager's name of a feature, given the kernel's name or one of the ethtool command.
func featureName(name string) string {
	switch name {
	case "rx-checksum", "rx", "rx-checksumming":
		return "rx"
	case "tx-scatter-gather":
		return "sg"
	case "tx-tcp-segmentation":
		return "tso"
	case "rx-gro", "gro", "generic-receive-offload":
		return "gro"
	case "tx-generic-segmentation", "gso", "generic-segmentation-offload":
		return "gso"
	case "rx-hashing", "rxhash", "receive-hashing":
		return "rxhash"
	case "rx-lro", "lro", "large-receive-offload":
		return "lro"
	case "rx-ntuple-filter", "ntuple", "ntuple-filters":
		return "ntuple"
	case "rx-vlan-hw-parse", "rxvlan", "rx-vlan-offload":
		return "rxvlan"
	case "tx-vlan-hw-insert", "txvlan", "tx-vlan-offload":
		return "txvlan"
	}
	return name
}

// features returns the features that NetworkManager supports; it drops a file with another one.
func features() []string {
	return []string{
		"esp-hw-offload", "esp-tx-csum-hw-offload", "fcoe-mtu", "gro", "gso", "highdma", "hw-tc-offload", "l2-fwd-offload",
		"loopback", "lro", "macsec-hw-offload", "ntuple", "rx", "rxhash", "rxvlan", "rx-all", "rx-fcs", "rx-gro-hw",
		"rx-gro-list", "rx-udp-gro-forwarding", "rx-udp_tunnel-port-offload", "rx-vlan-filter", "rx-vlan-stag-filter",
		"rx-vlan-stag-hw-parse", "sg", "tls-hw-record", "tls-hw-rx-offload", "tls-hw-tx-offload", "tso", "tx", "txvlan",
		"tx-checksum-fcoe-crc", "tx-checksum-ipv4", "tx-checksum-ipv6", "tx-checksum-ip-generic", "tx-checksum-sctp",
		"tx-esp-segmentation", "tx-fcoe-segmentation", "tx-gre-csum-segmentation", "tx-gre-segmentation", "tx-gso-list",
		"tx-gso-partial", "tx-gso-robust", "tx-ipxip4-segmentation", "tx-ipxip6-segmentation", "tx-nocache-copy",
		"tx-scatter-gather", "tx-scatter-gather-fraglist", "tx-sctp-segmentation", "tx-tcp6-segmentation",
		"tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-tcp-segmentation", "tx-tunnel-remcsum-segmentation",
		"tx-udp-segmentation", "tx-udp_tnl-csum-segmentation", "tx-udp_tnl-segmentation", "tx-vlan-stag-hw-insert",
	}
}
