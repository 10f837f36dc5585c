package rules

// The sentences about the pools, and about what else a Network and its short form, a NetworkConfig, have in common.
var (
	TypeRequired       = New("type-required", "is required; write one of %s, or the name of a third-party network")
	UnknownType        = New("unknown-type", "is not known; did you mean %s? If you meant a third-party network, its name is too close to a built-in one; use another name")
	NotBuilt           = New("not-built", "%s; use one of %s")
	ForeignSettings    = New("foreign-settings", "is set but type is %s; remove it, or set the type to %s")
	SpecRequired       = New("spec-required", "is required; write spec: {} to use the values that the cluster declares, or that are applied")
	ManagementRemoved  = New("management-state", "is not allowed, since a cluster without a network cannot be repaired from inside; use Managed, or Unmanaged to leave everything as it is")
	ManagementState    = New("management-state", "is not a management state; use Managed or Unmanaged")
	LogLevel           = New("log-level", "is not a log level; use Normal, Debug, Trace or TraceAll")
	NoEffect           = New("no-effect", "%s; remove it")
	WorkloadNoEffect   = New("no-effect", "has no effect: this configuration does not deploy %s; remove it")
	ProgressDeadline   = New("progress-deadline-range", "is out of range; it must be 30 to 86400")
	CIDRSyntax         = New("cidr-syntax", "is not a CIDR; %s")
	CIDRHostBits       = New("cidr-host-bits", "has host bits set; did you mean %s?")
	CIDRSpecial        = New("cidr-special", "lies in the %s addresses, which cannot be routed; choose a private network, e.g. 10.128.0.0/14")
	PublicAddresses    = New("public-addresses", "%s are public addresses: pods cannot reach the hosts on the internet that have them; use a private range, e.g. 10.128.0.0/14, unless they are yours")
	PoolOverlap        = New("pool-overlap", "%s; choose non-overlapping ranges")
	FamilySymmetry     = New("family-symmetry", "spec.clusterNetwork is %s, spec.serviceNetwork is %s; both must have the same IP families. Add or remove a range of the family that only one has")
	ShortFormFamilies  = New("family-symmetry", "spec.serviceNetwork is IPv%d, spec.clusterNetworks[%d] is IPv%d; use one family. For both, write a Network.operator.openshift.io instead")
	IPv6Unsupported    = New("ipv6-unsupported", "has IPv6 networks, which network type %s does not support; use IPv4 networks")
	IPv6Added          = New("ipv6-unsupported", "adds IPv6 networks to IPv4 ones, but network type %s assigns pods IPv4 addresses only; remove the IPv6 networks here and in spec.serviceNetwork")
	DualStack          = New("dual-stack-unsupported", "is dual-stack, which network type %s does not support; use networks of one family")
	HostPrefixMissing  = New("hostprefix-range", "is missing; network type %s gives each node a block of the range. Set its prefix length, e.g. %s")
	HostPrefixRange    = New("hostprefix-range", "must be between %d and %d for a /%d")
	HostPrefixUnusable = New("hostprefix-range", "leaves no usable pod address per node; use %s")
	PoolWithoutBlocks  = New("hostprefix-range", "is too small for a node: a pool needs at least two host bits; use /%d or shorter")

	ClusterNetworkRequired   = New("cluster-network-required", "must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostPrefix 23")
	ClusterNetworksRequired  = New("cluster-network-required", "must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostSubnetLength 9")
	HostSubnetLength         = New("host-subnet-length", "must be between 2 and %d for a /%d: it is the number of host bits, so that 9 gives each node a /%d")
	HostSubnetLengthPool     = New("host-subnet-length", "cannot be right: %s is too small to be divided among nodes; use a shorter prefix")
	TypeUndetected           = New("type-required", "is required: %s. Write one of %s, or the name of a third-party network")
	ClusterNetworkUndetected = New("cluster-network-required", "is required: %s. Write at least 1 entry, e.g. cidr 10.128.0.0/14 with hostPrefix 23")
	ServiceNetworkUndetected = New("service-network-required", "is required: %s. Write the Service CIDR of the API server (its flag --service-cluster-ip-range), e.g. 172.30.0.0/16")
	ClusterNetworkCount      = New("cluster-network-count", "has %d entries; network type %s takes at most %d")
	ServiceNetworkRequired   = New("service-network-required", "must have at least 1 entry, e.g. 172.30.0.0/16")
	ServiceNetworkCount      = New("service-network-families", "has %d entries; there may be at most one IPv4 and one IPv6 network. Remove the others")
	ServiceNetworkFamily     = New("service-network-families", "is a second IPv%d network; there may be at most one IPv4 and one IPv6 network. Remove it")
	ServiceNetworkSize       = New("service-network-size", "is too small for Services: the API server needs at least %d addresses; use a /%d or a shorter prefix")
	ServiceCIDR              = New("service-network-api-server", "is not the Service CIDR of the API server, which is %s (ServiceCIDR kubernetes); write %s")
	ServiceCIDRKubernetes    = New("service-network-api-server", "does not contain %s, the ClusterIP of the Service default/kubernetes; write the Service CIDR of the API server (its flag --service-cluster-ip-range)")

	NodeAddressInPool = New("node-address-in-pool", "%s contains %s; pods could not reach it; choose a range outside the machine network")
	NodeFamily        = New("node-ip-family", "adds %s, and these nodes have no internal address of it: %s; give them one in .status.addresses, with --node-ip of the kubelet, or leave the %s networks out")
	PoolCapacity      = New("pool-capacity", "%s supports %d nodes; the cluster has %d; use a shorter prefix for the pool, or a longer hostPrefix")
	LinkMTU           = New("mtu-links", "needs links of at least %d (%s adds %d), and a node has one of %d; use %d or less, or leave it out, "+raiseLinks)
	InterfaceMissing  = New("interface-missing", "does not exist on any node; use an interface that has an address on every node (nodes have %s), or omit it to use that of the default route. If nodes got it after they were probed, delete the ConfigMap mtu, so that they are probed again")

	ServicesUnserved    = New("services-unserved", "no component serves Services: new connections to Services fail; set it to true, or deploy another service proxy")
	ServicesServedTwice = New("services-served-twice", "%s serves Services too: both bind the same ports of nodes and change each other's rules; delete it, or set this field to false")
)

// The sentences about Network.config of OpenShift that have no counterpart for a Network.
var (
	MachineNetworkOverlap = New("machine-network-overlap", "CIDRs %s and %s overlap: %s is a network of machines (spec.platformSpec of the Infrastructure); choose another range")
	PlatformDualStack     = New("platform-dual-stack", "%s is not one of the supported platforms for dual stack; use networks of one family")
	ExternalIPNetwork     = New("external-ip-network", "is not a CIDR; write an address and a prefix, e.g. 192.0.2.0/24")
	NodePortRange         = New("node-port-range", "is not a range of ports; write the lowest and the highest, e.g. 30000-32767")
)

// raiseLinks is the remedy for an MTU that a link does not carry.
const raiseLinks = "or raise the MTU of the links first and delete the ConfigMap mtu, so that nodes are probed again"

// network are the rules of the pools, and what else a Network and its short form, a NetworkConfig, have in common.
var network = []Rule{
	{
		Sentence: New("object-name", "metadata.name must be \"default\" (there is one network per cluster)"),
		At:       []string{"NetworkConfig"},
		Valid:    `self.metadata.name == 'default'`,
	},
	overlapOfPools("NetworkConfig", "clusterNetworks"),
	{
		Sentence: PoolOverlap,
		At:       []string{"NetworkConfig spec"},
		Valid: `!self.clusterNetworks.exists(a, isCIDR(a.cidr) && isCIDR(self.serviceNetwork)
			&& (cidr(a.cidr).containsCIDR(self.serviceNetwork) || cidr(self.serviceNetwork).containsCIDR(a.cidr)))`,
		Message: `self.clusterNetworks.transformList(i, a, isCIDR(a.cidr) && isCIDR(self.serviceNetwork)
			&& (cidr(a.cidr).containsCIDR(self.serviceNetwork) || cidr(self.serviceNetwork).containsCIDR(a.cidr)),
			` + PoolOverlap.CEL("", `'spec.serviceNetwork %s %s spec.clusterNetworks[%d] %s'.format([self.serviceNetwork,
			(a.cidr == self.serviceNetwork ? 'is the same as' : cidr(a.cidr).containsCIDR(self.serviceNetwork) ? 'lies inside'
			: 'contains'), i, a.cidr])`) + `)[0]`,
	},
	{
		Sentence: ShortFormFamilies,
		At:       []string{"NetworkConfig spec"},
		Valid: `!isCIDR(self.serviceNetwork) || self.clusterNetworks.all(a, !isCIDR(a.cidr)
			|| cidr(a.cidr).ip().family() == cidr(self.serviceNetwork).ip().family())`,
		Message: `self.clusterNetworks.transformList(i, a, isCIDR(a.cidr)
			&& cidr(a.cidr).ip().family() != cidr(self.serviceNetwork).ip().family(),
			` + ShortFormFamilies.CEL("", "cidr(self.serviceNetwork).ip().family()", "i", "cidr(a.cidr).ip().family()") + `)[0]`,
	},
	{
		Sentence: HostSubnetLength,
		At:       []string{"NetworkConfig spec.clusterNetworks[]"}, Field: ".hostSubnetLength",
		Valid: `!isCIDR(self.cidr) || (self.hostSubnetLength >= 2 && self.hostSubnetLength <= (cidr(self.cidr).ip().family() == 4 ? 32
			: 128) - cidr(self.cidr).prefixLength())`,
		Number: "self.hostSubnetLength",
		Args:   []string{`(cidr(self.cidr).ip().family() == 4 ? 32 : 128) - cidr(self.cidr).prefixLength()`, "cidr(self.cidr).prefixLength()", "(cidr(self.cidr).ip().family() == 4 ? 23 : 119)"},
	},
	{
		Sentence: CIDRSyntax,
		At:       []string{"NetworkConfig spec.clusterNetworks[].cidr", "NetworkConfig spec.serviceNetwork", "Network spec.clusterNetwork[].cidr", "Network spec.serviceNetwork[]"},
		Valid:    `isCIDR(self)`,
		Text:     "self",
		Args: []string{`self.matches('^[0-9]+[.][0-9]+[.][0-9]+/[0-9]+$')
			? 'write four octets and a prefix, e.g. %s.0/%s'.format(self.split('/')) : isIP(self)
			? 'add the length of its prefix after a slash' : 'write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48'`},
	},
	{
		Sentence: CIDRHostBits,
		At:       []string{"NetworkConfig spec.clusterNetworks[].cidr", "NetworkConfig spec.serviceNetwork", "Network spec.clusterNetwork[].cidr", "Network spec.serviceNetwork[]"},
		Valid:    `!isCIDR(self) || cidr(self) == cidr(self).masked()`,
		Text:     "self",
		Args:     []string{"string(cidr(self).masked())"},
	},
	{
		Sentence: New("object-name", "metadata.name must be \"cluster\" (there is one network per cluster)"),
		At:       []string{"Network"},
		Valid:    `self.metadata.name == 'cluster'`,
	},
	{
		Sentence: SpecRequired,
		At:       []string{"Network"}, Field: ".spec",
		Valid: `has(self.spec)`,
	},
	{
		Sentence: ManagementRemoved,
		At:       []string{"Network spec"}, Field: ".managementState",
		Valid: `!has(self.managementState) || self.managementState != 'Removed'`,
		Text:  "self.managementState",
	},
	overlapOfPools("Network", "clusterNetwork"),
	{
		Sentence: PoolOverlap,
		At:       []string{"Network spec"},
		Valid: `!has(self.clusterNetwork) || !has(self.serviceNetwork) || !self.clusterNetwork.exists(a, self.serviceNetwork.exists(b,
			isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr))))`,
		Message: `self.clusterNetwork.transformList(i, a, self.serviceNetwork.exists(b, isCIDR(a.cidr) && isCIDR(b)
			&& (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr))), self.serviceNetwork.transformList(j, b,
			isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr)),
			` + PoolOverlap.CEL("", `'spec.serviceNetwork[%d] %s %s spec.clusterNetwork[%d] %s'.format([j, b, (a.cidr == b
			? 'is the same as' : cidr(a.cidr).containsCIDR(b) ? 'lies inside' : 'contains'), i, a.cidr])`) + `)[0])[0]`,
	},
	{
		Sentence: ServiceNetworkFamily,
		At:       []string{"Network spec"},
		Valid: `!has(self.serviceNetwork) || !self.serviceNetwork.exists(i, a, self.serviceNetwork.exists(j, b, i < j && isCIDR(a)
			&& isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family()))`,
		Message: `self.serviceNetwork.transformList(i, a, self.serviceNetwork.exists(j, b, i < j && isCIDR(a) && isCIDR(b)
			&& cidr(a).ip().family() == cidr(b).ip().family()), self.serviceNetwork.transformList(j, b, i < j && isCIDR(a)
			&& isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family(),
			` + ServiceNetworkFamily.CEL("spec.serviceNetwork[%d] %s ", "j", "b", "cidr(b).ip().family()") + `)[0])[0]`,
	},
	{
		Sentence: FamilySymmetry,
		At:       []string{"Network spec"},
		Valid: `!has(self.clusterNetwork) || !has(self.serviceNetwork) || self.clusterNetwork.size() == 0
			|| self.serviceNetwork.size() == 0 || !self.clusterNetwork.all(c, isCIDR(c.cidr)) || !self.serviceNetwork.all(s,
			isCIDR(s)) || [4, 6].all(f, self.clusterNetwork.exists(c,
			cidr(c.cidr).ip().family() == f) == self.serviceNetwork.exists(s, cidr(s).ip().family() == f))`,
		Args: []string{`(self.clusterNetwork.exists(c, cidr(c.cidr).ip().family() == 4) ? (self.clusterNetwork.exists(c,
			cidr(c.cidr).ip().family() == 6) ? 'IPv4 and IPv6' : 'IPv4') : 'IPv6')`, `(self.serviceNetwork.exists(s, cidr(s).ip().family() == 4) ? (self.serviceNetwork.exists(s,
			cidr(s).ip().family() == 6) ? 'IPv4 and IPv6' : 'IPv4') : 'IPv6')`},
	},
	{
		Sentence: HostPrefixMissing,
		At:       []string{"Network spec"},
		Valid: `!has(self.clusterNetwork) || !has(self.defaultNetwork) || !has(self.defaultNetwork.type)
			|| !(self.defaultNetwork.type.lowerAscii() in ['flannel', 'ovnkubernetes']) || self.clusterNetwork.all(c,
			has(c.hostPrefix) && c.hostPrefix > 0)`,
		Message: `self.clusterNetwork.transformList(i, c, !has(c.hostPrefix) || c.hostPrefix == 0,
			` + HostPrefixMissing.CEL("spec.clusterNetwork[%d].hostPrefix ", "i", "self.defaultNetwork.type", "c.cidr.contains(':') ? '64' : '23 for 510 pods a node'") + `)[0]`,
	},
	{
		Sentence: HostPrefixRange,
		At:       []string{"Network spec.clusterNetwork[]"}, Field: ".hostPrefix",
		Valid: `!has(self.hostPrefix) || self.hostPrefix == 0 || !isCIDR(self.cidr)
			|| self.hostPrefix >= cidr(self.cidr).prefixLength()`,
		Number: "self.hostPrefix",
		Args:   []string{"cidr(self.cidr).prefixLength()", "cidr(self.cidr).ip().family() == 4 ? 30 : 126", "cidr(self.cidr).prefixLength()"},
	},
	{
		Sentence: HostPrefixUnusable,
		At:       []string{"Network spec.clusterNetwork[]"}, Field: ".hostPrefix",
		Valid:  `!has(self.hostPrefix) || !isCIDR(self.cidr) || self.hostPrefix <= (cidr(self.cidr).ip().family() == 4 ? 30 : 126)`,
		Number: "self.hostPrefix",
		Args:   []string{`cidr(self.cidr).ip().family() == 4 ? '30 or less (23 gives 510)' : '126 or less (64 is usual)'`},
	},
	{
		Sentence: ProgressDeadline,
		At:       []string{"Network spec.rollout.progressDeadlineSeconds"},
		Valid:    `self >= 30 && self <= 86400`,
		Number:   "self",
	},
}
