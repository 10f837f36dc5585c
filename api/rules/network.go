package rules

// network are the rules of the pools, and what else a Network and its short form, a NetworkConfig, have in common.
var network = []Rule{
	{
		ID: "object-name", At: []string{"NetworkConfig"},
		Valid:    `self.metadata.name == 'default'`,
		Sentence: "metadata.name must be \"default\" (there is one network per cluster)",
	},
	overlapOfPools("NetworkConfig", "clusterNetworks"),
	{
		ID: "pool-overlap", At: []string{"NetworkConfig spec"},
		Valid: `!self.clusterNetworks.exists(a, isCIDR(a.cidr) && isCIDR(self.serviceNetwork)
			&& (cidr(a.cidr).containsCIDR(self.serviceNetwork) || cidr(self.serviceNetwork).containsCIDR(a.cidr)))`,
		Message: `self.clusterNetworks.transformList(i, a, isCIDR(a.cidr) && isCIDR(self.serviceNetwork)
			&& (cidr(a.cidr).containsCIDR(self.serviceNetwork) || cidr(self.serviceNetwork).containsCIDR(a.cidr)),
			'spec.serviceNetwork %s %s spec.clusterNetworks[%d] %s; choose non-overlapping ranges'.format([self.serviceNetwork,
			(a.cidr == self.serviceNetwork ? 'is the same as' : cidr(a.cidr).containsCIDR(self.serviceNetwork) ? 'lies inside'
			: 'contains'), i, a.cidr]))[0]`,
	},
	{
		ID: "family-symmetry", At: []string{"NetworkConfig spec"},
		Valid: `!isCIDR(self.serviceNetwork) || self.clusterNetworks.all(a, !isCIDR(a.cidr)
			|| cidr(a.cidr).ip().family() == cidr(self.serviceNetwork).ip().family())`,
		Message: `self.clusterNetworks.transformList(i, a, isCIDR(a.cidr)
			&& cidr(a.cidr).ip().family() != cidr(self.serviceNetwork).ip().family(),
			'spec.serviceNetwork is IPv%d, spec.clusterNetworks[%d] is IPv%d; use one family. For both, write a Network.operator.openshift.io instead'.format([cidr(self.serviceNetwork).ip().family(),
			i, cidr(a.cidr).ip().family()]))[0]`,
	},
	{
		ID: "host-subnet-length", At: []string{"NetworkConfig spec.clusterNetworks[]"}, Field: ".hostSubnetLength",
		Valid: `!isCIDR(self.cidr) || (self.hostSubnetLength >= 2 && self.hostSubnetLength <= (cidr(self.cidr).ip().family() == 4 ? 32
			: 128) - cidr(self.cidr).prefixLength())`,
		Number: "self.hostSubnetLength", Sentence: "must be between 2 and %d for a /%d: it is the number of host bits, so that 9 gives each node a /%d",
		Args: []string{`(cidr(self.cidr).ip().family() == 4 ? 32 : 128) - cidr(self.cidr).prefixLength()`, "cidr(self.cidr).prefixLength()", "(cidr(self.cidr).ip().family() == 4 ? 23 : 119)"},
	},
	{
		ID: "cidr-syntax", At: []string{"NetworkConfig spec.clusterNetworks[].cidr", "NetworkConfig spec.serviceNetwork", "Network spec.clusterNetwork[].cidr", "Network spec.serviceNetwork[]"},
		Valid: `isCIDR(self)`,
		Text:  "self", Sentence: "is not a CIDR; %s",
		Args: []string{`self.matches('^[0-9]+[.][0-9]+[.][0-9]+/[0-9]+$')
			? 'write four octets and a prefix, e.g. %s.0/%s'.format(self.split('/')) : isIP(self)
			? 'add the length of its prefix after a slash' : 'write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48'`},
	},
	{
		ID: "cidr-host-bits", At: []string{"NetworkConfig spec.clusterNetworks[].cidr", "NetworkConfig spec.serviceNetwork", "Network spec.clusterNetwork[].cidr", "Network spec.serviceNetwork[]"},
		Valid: `!isCIDR(self) || cidr(self) == cidr(self).masked()`,
		Text:  "self", Sentence: "has host bits set; did you mean %s?",
		Args: []string{"string(cidr(self).masked())"},
	},
	{
		ID: "object-name", At: []string{"Network"},
		Valid:    `self.metadata.name == 'cluster'`,
		Sentence: "metadata.name must be \"cluster\" (there is one network per cluster)",
	},
	{
		ID: "management-state", At: []string{"Network spec"}, Field: ".managementState",
		Valid: `!has(self.managementState) || self.managementState != 'Removed'`,
		Text:  "self.managementState", Sentence: "is not allowed, since a cluster without a network cannot be repaired from inside; use Managed, or Unmanaged to leave everything as it is",
	},
	overlapOfPools("Network", "clusterNetwork"),
	{
		ID: "pool-overlap", At: []string{"Network spec"},
		Valid: `!has(self.clusterNetwork) || !has(self.serviceNetwork) || !self.clusterNetwork.exists(a, self.serviceNetwork.exists(b,
			isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr))))`,
		Message: `self.clusterNetwork.transformList(i, a, self.serviceNetwork.exists(b, isCIDR(a.cidr) && isCIDR(b)
			&& (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr))), self.serviceNetwork.transformList(j, b,
			isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr)),
			'spec.serviceNetwork[%d] %s %s spec.clusterNetwork[%d] %s; choose non-overlapping ranges'.format([j, b, (a.cidr == b
			? 'is the same as' : cidr(a.cidr).containsCIDR(b) ? 'lies inside' : 'contains'), i, a.cidr]))[0])[0]`,
	},
	{
		ID: "service-network-families", At: []string{"Network spec"},
		Valid: `!has(self.serviceNetwork) || !self.serviceNetwork.exists(i, a, self.serviceNetwork.exists(j, b, i < j && isCIDR(a)
			&& isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family()))`,
		Message: `self.serviceNetwork.transformList(i, a, self.serviceNetwork.exists(j, b, i < j && isCIDR(a) && isCIDR(b)
			&& cidr(a).ip().family() == cidr(b).ip().family()), self.serviceNetwork.transformList(j, b, i < j && isCIDR(a)
			&& isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family(),
			'spec.serviceNetwork[%d] %s is a second IPv%d network; there may be at most one IPv4 and one IPv6 network. Remove it'.format([j,
			b, cidr(b).ip().family()]))[0])[0]`,
	},
	{
		ID: "family-symmetry", At: []string{"Network spec"},
		Valid: `!has(self.clusterNetwork) || !has(self.serviceNetwork) || self.clusterNetwork.size() == 0
			|| self.serviceNetwork.size() == 0 || !self.clusterNetwork.all(c, isCIDR(c.cidr)) || !self.serviceNetwork.all(s,
			isCIDR(s)) || [4, 6].all(f, self.clusterNetwork.exists(c,
			cidr(c.cidr).ip().family() == f) == self.serviceNetwork.exists(s, cidr(s).ip().family() == f))`,
		Sentence: "spec.clusterNetwork is %s, spec.serviceNetwork is %s; both must have the same IP families. Add or remove a range of the family that only one has",
		Args: []string{`(self.clusterNetwork.exists(c, cidr(c.cidr).ip().family() == 4) ? (self.clusterNetwork.exists(c,
			cidr(c.cidr).ip().family() == 6) ? 'IPv4 and IPv6' : 'IPv4') : 'IPv6')`, `(self.serviceNetwork.exists(s, cidr(s).ip().family() == 4) ? (self.serviceNetwork.exists(s,
			cidr(s).ip().family() == 6) ? 'IPv4 and IPv6' : 'IPv4') : 'IPv6')`},
	},
	{
		ID: "hostprefix-range", At: []string{"Network spec"},
		Valid: `!has(self.clusterNetwork) || !has(self.defaultNetwork) || !has(self.defaultNetwork.type)
			|| !(self.defaultNetwork.type.lowerAscii() in ['flannel', 'ovnkubernetes']) || self.clusterNetwork.all(c,
			has(c.hostPrefix) && c.hostPrefix > 0)`,
		Message: `self.clusterNetwork.transformList(i, c, !has(c.hostPrefix) || c.hostPrefix == 0,
			'spec.clusterNetwork[%d].hostPrefix is missing; type %s gives each node a block of the range. Set its prefix length, e.g. %s'.format([i,
			self.defaultNetwork.type, c.cidr.contains(':') ? '64' : '23 for 510 pods a node']))[0]`,
	},
	{
		ID: "hostprefix-range", At: []string{"Network spec.clusterNetwork[]"}, Field: ".hostPrefix",
		Valid: `!has(self.hostPrefix) || self.hostPrefix == 0 || !isCIDR(self.cidr)
			|| self.hostPrefix >= cidr(self.cidr).prefixLength()`,
		Number: "self.hostPrefix", Sentence: "must be between %d and %d for a /%d",
		Args: []string{"cidr(self.cidr).prefixLength()", "cidr(self.cidr).ip().family() == 4 ? 30 : 126", "cidr(self.cidr).prefixLength()"},
	},
	{
		ID: "hostprefix-range", At: []string{"Network spec.clusterNetwork[]"}, Field: ".hostPrefix",
		Valid:  `!has(self.hostPrefix) || !isCIDR(self.cidr) || self.hostPrefix <= (cidr(self.cidr).ip().family() == 4 ? 30 : 126)`,
		Number: "self.hostPrefix", Sentence: "leaves no usable pod address per node; use %s",
		Args: []string{`cidr(self.cidr).ip().family() == 4 ? '30 or less (23 gives 510)' : '126 or less (64 is usual)'`},
	},
	{
		ID: "progress-deadline-range", At: []string{"Network spec.rollout.progressDeadlineSeconds"},
		Valid:  `self >= 30 && self <= 86400`,
		Number: "self", Sentence: "is out of range; it must be 30 to 86400",
	},
}
