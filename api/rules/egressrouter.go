package rules

// The sentences about an EgressRouter that the operator's own check uses, too.
var (
	EgressRouterRedirect          = New("egressrouter-redirect", "is missing; mode Redirect needs redirectRules, a fallbackIP, or both")
	EgressRouterPassthru          = New("egressrouter-passthru", "gives the master to one interface, and each address has its own interface; use Bridge, Private or VEPA, or one address")
	EgressRouterDestinationFamily = New("egressrouter-destination-family", "is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or remove the rule")
	EgressRouterFallbackFamily    = New("egressrouter-fallback-family", "is IPv%d, and the router has no IPv%d address; add one to spec.addresses, or remove the fallback")
	EgressRouterAddresses         = New("egressrouter-addresses", "is empty; the router needs at least one address, e.g. {ip: 192.168.12.99/24, gateway: 192.168.12.1}")
	EgressRouterAddressFamilies   = New("egressrouter-address-families", "there may be at most one address per family, and %s is not the only one of IPv%d; remove the others, and create a router for each of them")
	EgressRouterGatewayRequired   = New("egressrouter-gateway-required", "is missing; write the address of the router of the network of %s, since everything that the pod sends goes there")
	EgressRouterGatewayFamily     = New("egressrouter-gateway-family", "is IPv%d, and the address %s is IPv%d; write a gateway of the same family")
	EgressRouterGatewayOutside    = New("egressrouter-gateway-outside", "is not inside %s; write the address that the router has in that network%s")
	EgressRouterGatewayOwn        = New("egressrouter-gateway-own", "is the address of this router itself; write that of the next one")
	EgressRouterGateway           = New("egressrouter-gateway", "is not an IP address; write that of the router of the network, without a prefix, e.g. 192.168.12.1")
	EgressRouterAddress           = New("egressrouter-address", "is not a CIDR; %s")
	EgressRouterAddressSpecial    = New("egressrouter-address-special", "cannot be the address of a router; write a unicast address that is not loopback or link-local, e.g. 192.168.12.99/24")
	EgressRouterAddressNetwork    = New("egressrouter-address-network", "is the network, not an address in it; write the one that the router is to have")
	EgressRouterAddressBroadcast  = New("egressrouter-address-broadcast", "is the broadcast address of the network; write the one that the router is to have")
	EgressRouterMaster            = New("egressrouter-master", "is not the name of an interface; it has at most 15 characters without slash, colon or space, e.g. eth1")
	EgressRouterNoDestination     = New("egressrouter-no-destination", "has neither redirectRules nor a fallbackIP, so nothing would be forwarded; add a rule for each port, a fallbackIP for all ports, or both")
	EgressRouterFallback          = New("egressrouter-fallback", "is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26")
	EgressRouterUnreachable       = New("egressrouter-unreachable", "cannot be reached through a router; write a unicast address that is not loopback or link-local, e.g. 203.0.113.26")
	EgressRouterPortTwice         = New("egressrouter-port-twice", "%s port %d is redirected more than once, and only the first rule counts; remove all but one")
	EgressRouterDestination       = New("egressrouter-destination", "is not an IP address; write one without a prefix or a port, e.g. 203.0.113.26")
	EgressRouterDestinationOwn    = New("egressrouter-destination-own", "is the router's own address; write that of the server")
	EgressRouterPort              = New("egressrouter-port", "is not a port; use 1 to 65535. To send all ports to one destination, use fallbackIP")
	EgressRouterTargetPort        = New("egressrouter-target-port", "is not a port; use 1 to 65535, or leave it out to use port")
)

// egressrouter are the rules of an EgressRouter.
var egressrouter = []Rule{
	{
		Sentence: EgressRouterRedirect,
		At:       []string{"EgressRouter spec"}, Field: ".redirect",
		Valid: `self.mode != 'Redirect' || has(self.redirect)`,
	},
	{
		Sentence: EgressRouterPassthru,
		At:       []string{"EgressRouter spec"}, Field: ".networkInterface.macvlan.mode",
		Valid: `self.addresses.size() < 2 || self.networkInterface.macvlan.mode != 'Passthru'`,
		Text:  "self.networkInterface.macvlan.mode",
	},
	{
		Sentence: EgressRouterDestinationFamily,
		At:       []string{"EgressRouter spec"},
		Valid: `!has(self.redirect) || !has(self.redirect.redirectRules) || self.redirect.redirectRules.all(r, !isIP(r.destinationIP)
			|| self.addresses.exists(a, !isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(r.destinationIP).family()))`,
		Message: `self.redirect.redirectRules.transformList(i, r, isIP(r.destinationIP) && !self.addresses.exists(a, !isCIDR(a.ip)
			|| cidr(a.ip).ip().family() == ip(r.destinationIP).family()),
			` + EgressRouterDestinationFamily.CEL(`spec.redirect.redirectRules[%d].destinationIP: "%s" `,
			"i", "r.destinationIP", "ip(r.destinationIP).family()", "ip(r.destinationIP).family()") + `)[0]`,
	},
	{
		Sentence: EgressRouterFallbackFamily,
		At:       []string{"EgressRouter spec"}, Field: ".redirect.fallbackIP",
		Valid: `!has(self.redirect) || !has(self.redirect.fallbackIP) || !isIP(self.redirect.fallbackIP) || self.addresses.exists(a,
			!isCIDR(a.ip) || cidr(a.ip).ip().family() == ip(self.redirect.fallbackIP).family())`,
		Text: "self.redirect.fallbackIP",
		Args: []string{"ip(self.redirect.fallbackIP).family()", "ip(self.redirect.fallbackIP).family()"},
	},
	{
		Sentence: EgressRouterAddresses,
		At:       []string{"EgressRouter spec.addresses"},
		Valid:    `self.size() > 0`,
	},
	{
		Sentence: EgressRouterAddressFamilies,
		At:       []string{"EgressRouter spec.addresses"},
		Valid: `!self.exists(i, a, self.exists(j, b, i < j && isCIDR(a.ip) && isCIDR(b.ip)
			&& cidr(a.ip).ip().family() == cidr(b.ip).ip().family()))`,
		Message: `self.transformList(i, a, self.exists(j, b, i < j && isCIDR(a.ip) && isCIDR(b.ip)
			&& cidr(a.ip).ip().family() == cidr(b.ip).ip().family()),
			` + EgressRouterAddressFamilies.CEL("", "a.ip", "cidr(a.ip).ip().family()") + `)[0]`,
	},
	{
		Sentence: EgressRouterGatewayRequired,
		At:       []string{"EgressRouter spec.addresses[]"}, Field: ".gateway",
		Valid: `has(self.gateway) && self.gateway != ""`,
		Args:  []string{"self.ip"},
	},
	{
		Sentence: EgressRouterGatewayFamily,
		At:       []string{"EgressRouter spec.addresses[]"}, Field: ".gateway",
		Valid: `!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip)
			|| ip(self.gateway).family() == cidr(self.ip).ip().family()`,
		Text: "self.gateway",
		Args: []string{"ip(self.gateway).family()", "self.ip", "cidr(self.ip).ip().family()"},
	},
	{
		Sentence: EgressRouterGatewayOutside,
		At:       []string{"EgressRouter spec.addresses[]"}, Field: ".gateway",
		Valid: `!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip)
			|| ip(self.gateway).family() != cidr(self.ip).ip().family() || cidr(self.ip).containsIP(self.gateway)
			|| (ip(self.gateway).family() == 6 && ip(self.gateway).isLinkLocalUnicast())`,
		Text: "self.gateway",
		Args: []string{"string(cidr(self.ip).masked())", `cidr(self.ip).ip().family() == 6 ? ', or its link-local one' : ""`},
	},
	{
		Sentence: EgressRouterGatewayOwn,
		At:       []string{"EgressRouter spec.addresses[]"}, Field: ".gateway",
		Valid: `!has(self.gateway) || !isIP(self.gateway) || !isCIDR(self.ip) || !(ip(self.gateway) == cidr(self.ip).ip())`,
		Text:  "self.gateway",
	},
	{
		Sentence: EgressRouterGateway,
		At:       []string{"EgressRouter spec.addresses[].gateway"},
		Valid:    `self == "" || isIP(self)`,
		Text:     "self",
	},
	{
		Sentence: EgressRouterAddress,
		At:       []string{"EgressRouter spec.addresses[].ip"},
		Valid:    `isCIDR(self)`,
		Text:     "self",
		Args: []string{`isIP(self) ? 'add the length of the prefix of its network, e.g. %s/%s'.format([self, self.contains(':') ? '64'
			: '24']) : 'write an address and the length of the prefix of its network, e.g. 192.168.12.99/24'`},
	},
	{
		Sentence: EgressRouterAddressSpecial,
		At:       []string{"EgressRouter spec.addresses[].ip"},
		Valid:    `!isCIDR(self) || cidr(self).ip().isGlobalUnicast()`,
		Text:     "self",
	},
	{
		Sentence: EgressRouterAddressNetwork,
		At:       []string{"EgressRouter spec.addresses[].ip"},
		Valid: `!isCIDR(self) || !cidr(self).ip().isGlobalUnicast() || cidr(self).prefixLength() >= (cidr(self).ip().family() == 4
			? 31 : 127) || !(cidr(self) == cidr(self).masked())`,
		Text: "self",
	},
	{
		Sentence: EgressRouterMaster,
		At:       []string{"EgressRouter spec.networkInterface.macvlan.master"},
		Valid:    `self.matches('^[^[:space:]/:]{0,15}$') && !(self in ['.', '..'])`,
		Text:     "self",
	},
	{
		Sentence: EgressRouterNoDestination,
		At:       []string{"EgressRouter spec.redirect"},
		Valid:    `(has(self.redirectRules) && self.redirectRules.size() > 0) || (has(self.fallbackIP) && self.fallbackIP != "")`,
	},
	{
		Sentence: EgressRouterFallback,
		At:       []string{"EgressRouter spec.redirect.fallbackIP"},
		Valid:    `self == "" || isIP(self)`,
		Text:     "self",
	},
	{
		Sentence: EgressRouterUnreachable,
		At:       []string{"EgressRouter spec.redirect.fallbackIP", "EgressRouter spec.redirect.redirectRules[].destinationIP"},
		Valid:    `!isIP(self) || ip(self).isGlobalUnicast()`,
		Text:     "self",
	},
	{
		Sentence: EgressRouterPortTwice,
		At:       []string{"EgressRouter spec.redirect.redirectRules"},
		Valid: `!self.exists(i, a, self.exists(j, b, i < j && a.port == b.port && a.protocol == b.protocol
			&& a.destinationIP.contains(':') == b.destinationIP.contains(':')))`,
		Message: `self.transformList(i, a, self.exists(j, b, i < j && a.port == b.port && a.protocol == b.protocol
			&& a.destinationIP.contains(':') == b.destinationIP.contains(':')),
			` + EgressRouterPortTwice.CEL("", "a.protocol", "a.port") + `)[0]`,
	},
	{
		Sentence: EgressRouterDestination,
		At:       []string{"EgressRouter spec.redirect.redirectRules[].destinationIP"},
		Valid:    `isIP(self)`,
		Text:     "self",
	},
	{
		Sentence: EgressRouterPort,
		At:       []string{"EgressRouter spec.redirect.redirectRules[].port"},
		Valid:    `self >= 1 && self <= 65535`,
		Number:   "self",
	},
	{
		Sentence: EgressRouterTargetPort,
		At:       []string{"EgressRouter spec.redirect.redirectRules[].targetPort"},
		Valid:    `self >= 1 && self <= 65535`,
		Number:   "self",
	},
}
