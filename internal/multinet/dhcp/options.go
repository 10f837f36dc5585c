package dhcp

// The codes of options (RFC 2132, RFC 3442, RFC 3397) that this package reads or sends.
const (
	optionSubnetMask      = 1
	optionRouters         = 3
	optionDNS             = 6
	optionHostName        = 12
	optionDomainName      = 15
	optionStaticRoutes    = 33
	optionRequestedIP     = 50
	optionOverload        = 52
	optionMessageType     = 53
	optionServerID        = 54
	optionRequestList     = 55
	optionMaxMessageSize  = 57
	optionVendorClass     = 60
	optionClientID        = 61
	optionUserClass       = 77
	optionDomainSearch    = 119
	optionClasslessRoutes = 121
)

// optionNames are the names that containernetworking documents, of dhcp-options(5).
var optionNames = map[string]uint8{
	"dhcp-client-identifier":  optionClientID,
	"subnet-mask":             optionSubnetMask,
	"routers":                 optionRouters,
	"host-name":               optionHostName,
	"user-class":              optionUserClass,
	"vendor-class-identifier": optionVendorClass,
}

// own are the options that the client itself sets.
var own = []uint8{optionRequestedIP, optionOverload, optionMessageType, optionServerID, optionRequestList, optionMaxMessageSize}

// defaultRequest returns the options that are requested in addition to those of a configuration. The MTU (option 26) is not among them, because the
// plugin that creates the interface sets it.
func defaultRequest() []uint8 {
	return []uint8{optionClasslessRoutes, optionSubnetMask, optionRouters, optionStaticRoutes, optionDNS, optionDomainName, optionDomainSearch}
}

// routesFirst orders classless routes before all other options, since RFC 3442 requires them before routers and static routes.
func routesFirst(a, b uint8) int {
	switch {
	case a == b:
		return 0
	case a == optionClasslessRoutes:
		return -1
	case b == optionClasslessRoutes:
		return 1
	}
	return 0
}
