package nmstate

// Routes are the desired routes. Running is reported by NMState, and ignored in a desired state.
type Routes struct {
	Running []Route `json:"running,omitempty"`
	Config  []Route `json:"config,omitempty"`
}

// Route is a route or, with state absent, a pattern of routes to remove.
type Route struct {
	State string `json:"state,omitempty" nm:"words=absent|ignore"`
	// Destination is an address or a prefix; host bits do not matter.
	Destination      string `json:"destination,omitempty"`
	NextHopInterface string `json:"next-hop-interface,omitempty"`
	NextHopAddress   string `json:"next-hop-address,omitempty"`
	// Metric is the metric; nil or -1 is the default of the host's software.
	Metric *int64 `json:"metric,omitempty"`
	// TableID is the table; nil or 0 is the main table, 254.
	TableID *uint32 `json:"table-id,omitempty"`
	// Weight is 1 to 256, of routes of IPv4 with several next hops.
	Weight    *uint16 `json:"weight,omitempty"`
	RouteType Special `json:"route-type,omitempty"`
	// CWND limits the congestion window, in segments.
	CWND   *uint32 `json:"cwnd,omitempty"`
	Source string  `json:"source,omitempty"`
	// MTU, the first windows InitCWND and InitRWND (segments), QuickACK and AdvMSS (bytes) are the kernel's attributes of a route.
	MTU      *uint32 `json:"mtu,omitempty"`
	InitCWND *uint32 `json:"initcwnd,omitempty"`
	InitRWND *uint32 `json:"initrwnd,omitempty"`
	QuickACK *bool   `json:"quickack,omitempty"`
	AdvMSS   *uint32 `json:"advmss,omitempty"`
}

// Absent reports whether the route should be absent or ignored.
func (r *Route) Absent() bool { return r.State != "" }

// RouteRules are the routing rules.
type RouteRules struct {
	Config []RouteRule `json:"config,omitempty"`
}

// RouteRule is a rule or, with state absent, a pattern of rules to remove.
type RouteRule struct {
	Family string `json:"family,omitempty" nm:"words=ipv4|ipv6"`
	State  string `json:"state,omitempty" nm:"words=absent"`
	IPFrom string `json:"ip-from,omitempty"`
	IPTo   string `json:"ip-to,omitempty"`
	// Priority is the priority; nil or -1 lets the generator choose.
	Priority   *int64  `json:"priority,omitempty"`
	RouteTable *uint32 `json:"route-table,omitempty"`
	FWMark     *uint32 `json:"fwmark,omitempty"`
	FWMask     *uint32 `json:"fwmask,omitempty"`
	IIF        string  `json:"iif,omitempty"`
	Action     Special `json:"action,omitempty"`
	// SuppressPrefixLength makes the rule ignore routes with prefixes of this length or shorter.
	SuppressPrefixLength *uint32 `json:"suppress-prefix-length,omitempty"`
}

// Absent reports whether the rule should be absent.
func (r *RouteRule) Absent() bool { return r.State != "" }

// DNS is the resolver's configuration. Running is reported by NMState, and ignored when desired.
type DNS struct {
	Running *Resolver `json:"running,omitempty"`
	Config  *Resolver `json:"config,omitempty"`
}

// Resolver is the DNS configuration of the host.
type Resolver struct {
	// Server lists addresses in order of preference; a link-local address has a zone: fe80::1%eth0.
	Server  []string `json:"server,omitempty"`
	Search  []string `json:"search,omitempty"`
	Options []string `json:"options,omitempty"`
}

// GetConfig returns the desired routes; nil for nil.
func (r *Routes) GetConfig() []Route {
	if r == nil {
		return nil
	}
	return r.Config
}
