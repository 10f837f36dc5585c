package rules

// ipv4 and network4 are CEL expressions for whether self is an IPv4 address, or an IPv4 network.
const (
	ipv4     = "isIP(self) && ip(self).family() == 4"
	network4 = "isCIDR(self) && cidr(self).ip().family() == 4"
)

// dnsName is the pattern of a DNS name, with or without the dot at its end.
const dnsName = `^([A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?[.])*[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?[.]?$`

// egressAddresses are the places of egress IP addresses.
var egressAddresses = []string{"NetNamespace egressIPs[]", "HostSubnet egressIPs[]"}

// The two sentences about the destination of an egress rule.
var (
	bothDestinations = New("egressnetworkpolicy-destination", "has both cidrSelector %s and dnsName %s; write a rule for each of them")
	noDestination    = New("egressnetworkpolicy-destination", "has neither cidrSelector nor dnsName; write one of them, e.g. {cidrSelector: 0.0.0.0/0} for everything")
)

// openshiftsdn are the rules of the objects of OpenShiftSDN.
var openshiftsdn = []Rule{
	{
		Sentence: New("clusternetwork-cidr", "is not an IPv4 network; write an address and a prefix, e.g. 10.128.0.0/14"),
		At:       []string{"ClusterNetwork serviceNetwork", "ClusterNetwork clusterNetworks[].CIDR"},
		Valid:    network4,
		Text:     "self",
	},
	{
		Sentence: New("hostsubnet-name", "is not the name of the object; write %s, or create a HostSubnet of that other name"),
		At:       []string{"HostSubnet"}, Field: ".host",
		Valid: "self.host == self.metadata.name",
		Text:  "self.host",
		Args:  []string{"self.metadata.name"},
	},
	{
		Sentence: New("hostsubnet-host-ip", "is not the IPv4 address of a host; write the one to which other nodes send VXLAN, e.g. 192.0.2.11"),
		At:       []string{"HostSubnet hostIP"},
		Valid:    ipv4 + " && ip(self).isGlobalUnicast()",
		Text:     "self",
	},
	{
		Sentence: New("hostsubnet-subnet", "is not an IPv4 network; write the first address of a block and its prefix, e.g. 10.128.2.0/23"),
		At:       []string{"HostSubnet subnet"},
		Valid:    `self == "" || (` + network4 + ` && cidr(self) == cidr(self).masked())`,
		Text:     "self",
	},
	{
		Sentence: New("hostsubnet-subnet-change", "is not %s, from which pods of the node have their addresses; set it back, or delete the HostSubnet"),
		At:       []string{"HostSubnet"}, Field: ".subnet",
		Valid: `!has(oldSelf.subnet) || oldSelf.subnet == "" || (has(self.subnet) && self.subnet == oldSelf.subnet)`,
		Text:  `has(self.subnet) ? self.subnet : ""`,
		Args:  []string{"oldSelf.subnet"},
	},
	{
		Sentence: New("hostsubnet-own-address", "is the address of the node itself, which cannot be an egress IP; choose one that no host has"),
		At:       []string{"HostSubnet"}, Field: ".egressIPs",
		Valid: `!has(self.egressIPs) || !(self.hostIP in self.egressIPs)`,
		Text:  "self.hostIP",
	},
	{
		Sentence: New("hostsubnet-egress-cidr", "is not an IPv4 network; write an address and a prefix, e.g. 192.0.2.128/25"),
		At:       []string{"HostSubnet egressCIDRs[]"},
		Valid:    network4,
		Text:     "self",
	},
	{
		Sentence: New("egress-ip", "is not an IPv4 address; write one without a prefix, e.g. 192.0.2.100"),
		At:       egressAddresses,
		Valid:    ipv4,
		Text:     "self",
	},
	{
		Sentence: New("egress-ip-special", "cannot be the source of packets; write a unicast address that is not loopback or link-local, e.g. 192.0.2.100"),
		At:       egressAddresses,
		Valid:    "!(" + ipv4 + ") || ip(self).isGlobalUnicast()",
		Text:     "self",
	},
	{
		Sentence: New("netnamespace-name", "is not the name of the object; write %s, or create a NetNamespace of that other name"),
		At:       []string{"NetNamespace"}, Field: ".netname",
		Valid: "self.netname == self.metadata.name",
		Text:  "self.netname",
		Args:  []string{"self.metadata.name"},
	},
	{
		Sentence: New("netnamespace-netid", "is not a VNID of a namespace; use 0, which reaches all others, or 10 to 16777215 (1 is the control plane of OpenShift, 2 to 9 are reserved)"),
		At:       []string{"NetNamespace netid"},
		Valid:    "self == 0 || self == 1 || (self >= 10 && self <= 16777215)",
		Number:   "self",
	},
	{
		Sentence: New("egressnetworkpolicy-rules", "has %d rules, and a namespace may have at most 1000; combine networks that are adjacent, or end with one rule for everything else (0.0.0.0/0)"),
		At:       []string{"EgressNetworkPolicy spec.egress"},
		Valid:    "self.size() <= 1000",
		Args:     []string{"self.size()"},
	},
	{
		Sentence: bothDestinations,
		At:       []string{"EgressNetworkPolicy spec.egress[].to"},
		Valid:    `(has(self.cidrSelector) && self.cidrSelector != "") != (has(self.dnsName) && self.dnsName != "")`,
		Message:  `has(self.cidrSelector) && self.cidrSelector != "" ? ` + bothDestinations.CEL("", "self.cidrSelector", "self.dnsName") + " : " + noDestination.CEL(""),
	},
	{
		Sentence: New("egressnetworkpolicy-cidr", "%s"),
		At:       []string{"EgressNetworkPolicy spec.egress[].to.cidrSelector"},
		Valid:    `self == "" || (` + network4 + `)`,
		Text:     "self",
		Args: []string{`isIP(self) && ip(self).family() == 4 ? 'has no prefix; write %s/32 for this address alone'.format([self])
			: isIP(self) || isCIDR(self) ? 'is IPv6, which this network does not have; write an IPv4 network, or remove the rule'
			: 'is not an IPv4 network; write an address and a prefix, e.g. 203.0.113.0/24'`},
	},
	{
		Sentence: New("egressnetworkpolicy-name", "is not a DNS name; %s"),
		At:       []string{"EgressNetworkPolicy spec.egress[].to.dnsName"},
		Valid:    `self == "" || (self.size() <= (self.endsWith('.') ? 254 : 253) && self.matches('` + dnsName + `') && !isIP(self))`,
		Text:     "self",
		Args: []string{`isIP(self) ? 'write an address as cidrSelector, e.g. 203.0.113.26/32'
			: self.startsWith('*') ? 'wildcards are not supported, so write a rule for each name'
			: 'write letters, digits and hyphens between dots, at most 63 in each part and 253 in all, e.g. www.example.com'`},
	},
}
