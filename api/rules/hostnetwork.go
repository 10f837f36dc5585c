package rules

// The two sentences about the address of a bridge.
var (
	addressMissing = New("hostnetwork-address-method", "method is Static, which needs an address")
	addressUnused  = New("hostnetwork-address-method", "address is set but method is %s; remove one")
)

// hostnetwork are the rules of a HostNetworkConfig.
var hostnetwork = []Rule{
	{
		Sentence: New("hostnetwork-empty", "nothing is configured; write a template, a bridge, or hosts"),
		At:       []string{"HostNetworkConfig spec"},
		Valid:    `has(self.template) || has(self.bridge) || has(self.hosts)`,
	},
	{
		Sentence: New("hostnetwork-ipv4-address", "is not an IPv4 address with a prefix; write for example 192.0.2.10/24"),
		At:       []string{"HostNetworkConfig spec.bridge"}, Field: ".ipv4.address",
		Valid: `!has(self.ipv4) || self.ipv4.method != 'Static' || !has(self.ipv4.address) || self.ipv4.address.contains('${')
			|| (isCIDR(self.ipv4.address) && cidr(self.ipv4.address).ip().family() == 4)`,
		Text: "self.ipv4.address",
	},
	{
		Sentence: New("hostnetwork-ipv6-address", "is not an IPv6 address with a prefix; write for example 2001:db8::10/64"),
		At:       []string{"HostNetworkConfig spec.bridge"}, Field: ".ipv6.address",
		Valid: `!has(self.ipv6) || self.ipv6.method != 'Static' || !has(self.ipv6.address) || self.ipv6.address.contains('${')
			|| (isCIDR(self.ipv6.address) && cidr(self.ipv6.address).ip().family() == 6)`,
		Text: "self.ipv6.address",
	},
	{
		Sentence: addressMissing,
		At:       []string{"HostNetworkConfig spec.bridge.ipv4", "HostNetworkConfig spec.bridge.ipv6"},
		Valid:    `(self.method == 'Static') == has(self.address)`,
		Message:  "self.method == 'Static' ? " + addressMissing.CEL("") + " : " + addressUnused.CEL("", "self.method"),
	},
	{
		Sentence: New("hostnetwork-gateway-method", "gateway is set but method is %s; remove one"),
		At:       []string{"HostNetworkConfig spec.bridge.ipv4", "HostNetworkConfig spec.bridge.ipv6"},
		Valid:    `!has(self.gateway) || self.method == 'Static'`,
		Args:     []string{"self.method"},
	},
	{
		Sentence: New("hostnetwork-gateway", "is not an IP address; write one without a prefix, for example 192.0.2.1"),
		At:       []string{"HostNetworkConfig spec.bridge.ipv4.gateway", "HostNetworkConfig spec.bridge.ipv6.gateway"},
		Valid:    `self.contains('${') || isIP(self)`,
		Text:     "self",
	},
	{
		Sentence: New("hostnetwork-bridge-name", "is not a name of an interface"),
		At:       []string{"HostNetworkConfig spec.bridge.name"},
		Valid:    `self.matches('^[A-Za-z0-9_.-]+$')`,
		Text:     "self",
	},
	{
		Sentence: New("hostnetwork-uplink", "write one of interface, macAddress, bond and auto"),
		At:       []string{"HostNetworkConfig spec.bridge.uplink"},
		Valid:    `[has(self.interface), has(self.macAddress), has(self.bond), has(self.auto)].filter(x, x).size() == 1`,
	},
	{
		Sentence: New("hostnetwork-uplink-vlan", "vlan needs an interface, a macAddress or a bond below it; the interface with the default route may be a VLAN already"),
		At:       []string{"HostNetworkConfig spec.bridge.uplink"},
		Valid:    `!has(self.vlan) || !has(self.auto)`,
	},
	{
		Sentence: New("hostnetwork-vlan", "is not a VLAN; use 1 to 4094"),
		At:       []string{"HostNetworkConfig spec.bridge.uplink.vlan.id"},
		Valid:    `type(self) == string || (self >= 1 && self <= 4094)`,
		Number:   "self",
	},
	{
		Sentence: New("hostnetwork-mac-address", "is not a MAC address; write six bytes, for example 52:54:00:12:34:56"),
		At:       []string{"HostNetworkConfig spec.hosts[].macAddresses[]"},
		Valid:    `self.matches('^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$')`,
		Text:     "self",
	},
	{
		Sentence: New("hostnetwork-host-name", "is not a host name; use lower-case letters, digits, - and dots"),
		At:       []string{"HostNetworkConfig spec.hosts[].name"},
		Valid:    `self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')`,
		Text:     "self",
	},
	{
		Sentence: New("hostnetwork-host-of-many", "a host must not be called \"%s\", which is not the name of one host"),
		At:       []string{"HostNetworkConfig spec.hosts[].name"},
		Valid:    `!self.matches('^(cluster|localhost)([.]|$)')`,
		Args:     []string{"self"},
	},
	{
		Sentence: New("hostnetwork-role", "is not a role; write the last part of a node-role.kubernetes.io label, for example worker"),
		At:       []string{"HostNetworkConfig spec.role"},
		Valid:    `self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`,
		Text:     "self",
	},
}
