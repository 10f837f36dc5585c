package netlinkovs

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// goal is what the network is to be, as far as it says anything.
type goal struct {
	links  []linkGoal
	gone   []string // links that are to be deleted
	names  []livestate.AltNames
	ovs    ovsbridge.Change
	routes []livestate.Route // to be there
	// noRoutes are routes to remove wherever they are; further routes go with their owned families.
	noRoutes  []nmstate.Route
	rules     []livestate.Rule
	noRules   []nmstate.RouteRule
	dropRules []livestate.Rule // exactly these go
	dns       *livestate.DNS   // nil does not change it
	hostname  string           // empty does not change it
}

// linkGoal is what one link is to be.
type linkGoal struct {
	name string
	// create makes the link where it is missing; nil for one that must be there, or that Open vSwitch makes.
	create     *livestate.Link
	mac        string // empty does not change it, as do the next ones
	mtu        int
	up         *bool
	controller *string
	uplink     bool              // it is a port of Open vSwitch
	sysctls    map[string]string // below net/ipv6/conf/<name>
	v4, v6     familyGoal
}

// familyGoal is what the addresses of one family are to be.
type familyGoal struct {
	// owned families have these addresses, and routes of this goal, and nothing else. Link-local IPv6 addresses are the kernel's.
	owned     bool
	addresses []livestate.Address
	// lease asks for an address by DHCP; what it brings is not removed.
	lease *lease
	// advertised addresses come from routers and are not removed.
	advertised bool
}

// lease is how an address is asked for.
type lease struct {
	ClientID  string `json:"clientID,omitempty"`
	Metric    int    `json:"metric,omitempty"`
	Table     int    `json:"table,omitempty"`
	Hostname  string `json:"hostname,omitempty"` // to send; empty sends none
	IgnoreDNS bool   `json:"ignoreDNS,omitempty"`
	NoRoutes  bool   `json:"noRoutes,omitempty"`
	NoGateway bool   `json:"noGateway,omitempty"`
}

// goalOf is what a document wants.
func goalOf(doc *nmstate.Document, hostname string) goal {
	g := goal{ovs: ovsbridge.Wanted(doc), names: livestate.AltNamesWanted(doc)}
	controllers := controllersOf(doc)
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		switch {
		case i.Kind() == nmstate.TypeOVSBridge || i.State == nmstate.StateIgnore || i.Patch != nil:
		case i.State == nmstate.StateAbsent:
			if livestate.Virtual(i, nil) && i.Kind() != nmstate.TypeOVSInterface {
				g.gone = append(g.gone, i.Name)
			}
		default:
			g.links = append(g.links, linkOf(i, controllers, hostname))
		}
	}
	undeclared(&g, controllers)
	for n := range g.links {
		g.links[n].uplink = uplink(doc, g.links[n].name)
	}
	if doc.Routes != nil {
		for _, r := range doc.Routes.Config {
			switch {
			case r.State == "ignore":
			case r.Absent():
				g.noRoutes = append(g.noRoutes, r)
			default:
				g.routes = append(g.routes, routeOf(r))
			}
		}
	}
	rulesOf(&g, doc)
	if doc.DNS != nil && doc.DNS.Config != nil {
		c := doc.DNS.Config
		g.dns = &livestate.DNS{Servers: c.Server, Search: c.Search, Options: c.Options}
	}
	if doc.Hostname != nil {
		g.hostname = doc.Hostname.Running
	}
	return g
}

// controllersOf maps ports to what they are ports of; an Open vSwitch bridge is none to the kernel's netlink.
func controllersOf(doc *nmstate.Document) map[string]string {
	out := map[string]string{}
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if !i.Up() {
			continue
		}
		if i.Controller != nil {
			if _, known := out[i.Name]; !known && !bridgeOfOVS(doc, *i.Controller) {
				out[i.Name] = *i.Controller
			}
		}
		for _, member := range i.Members() {
			if i.Kind() != nmstate.TypeOVSBridge {
				out[member] = i.Name
			} else if _, known := out[member]; !known && member != i.Name {
				out[member] = "" // leaves what it was a port of
			}
		}
	}
	return out
}

// uplink reports whether a link is a port of an Open vSwitch bridge, other than the bridge's own.
func uplink(doc *nmstate.Document, name string) bool {
	return slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool {
		return i.Kind() == nmstate.TypeOVSBridge && i.Up() && i.Name != name && slices.Contains(i.Members(), name)
	})
}

func bridgeOfOVS(doc *nmstate.Document, name string) bool {
	return slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == name && i.Kind() == nmstate.TypeOVSBridge })
}

// undeclared adds the ports that a controller lists and the document does not have: they are there, and need to be up.
func undeclared(g *goal, controllers map[string]string) {
	for _, name := range sortedKeys(controllers) {
		known := slices.ContainsFunc(g.links, func(l linkGoal) bool { return l.name == name })
		if controller := controllers[name]; !known {
			g.links = append(g.links, linkGoal{name: name, controller: &controller, up: yes(), v4: familyGoal{owned: true}, v6: familyGoal{owned: true}})
		}
	}
}

func linkOf(i *nmstate.Interface, controllers map[string]string, hostname string) linkGoal {
	up := i.Up()
	g := linkGoal{name: i.Name, create: creation(i), mac: strings.ToLower(i.MACAddress), up: &up, sysctls: map[string]string{}}
	if i.MTU != nil {
		g.mtu = int(*i.MTU)
	}
	if controller, ok := controllers[i.Name]; ok {
		g.controller = &controller
	}
	if i.IPv4 != nil {
		g.v4 = v4Of(i, hostname)
	}
	if i.IPv6 != nil {
		g.v6 = v6Of(i, g.sysctls)
	}
	if !up { // takes routes with it
		g.v4, g.v6 = familyGoal{}, familyGoal{}
	}
	return g
}

func v4Of(i *nmstate.Interface, hostname string) familyGoal {
	g := familyGoal{owned: true}
	if !i.IPv4.On() {
		return g
	}
	g.addresses = addressesOf(i.IPv4.Auto)
	if i.IPv4.Automatic() {
		g.lease = leaseOf(i.IPv4.Auto, hostname)
		g.lease.ClientID = i.IPv4.DHCPClientID
	}
	return g
}

// v6Of also sets what the kernel does automatically for the family.
func v6Of(i *nmstate.Interface, sysctls map[string]string) familyGoal {
	g := familyGoal{owned: true}
	if !i.IPv6.On() {
		sysctls["disable_ipv6"] = "1"
		return g
	}
	sysctls["disable_ipv6"] = "0"
	sysctls["accept_ra"], sysctls["autoconf"] = "0", "0"
	g.addresses = addressesOf(i.IPv6.Auto)
	if i.IPv6.Automatic() {
		g.advertised = true
		sysctls["accept_ra"] = "2" // even where the host forwards
		if nmstate.Is(i.IPv6.Autoconf) {
			sysctls["autoconf"] = "1"
		}
		if off(i.IPv6.AutoGateway) {
			sysctls["accept_ra_defrtr"] = "0"
		}
		if i.IPv6.AutoRouteMetric != nil {
			sysctls["ra_defrtr_metric"] = number(*i.IPv6.AutoRouteMetric)
		}
	}
	switch i.IPv6.AddrGenMode {
	case "eui64":
		sysctls["addr_gen_mode"] = "0"
	case "stable-privacy":
		sysctls["addr_gen_mode"] = "3" // a secret of the kernel's own, made at the first use
	}
	return g
}

func addressesOf(auto nmstate.Auto) []livestate.Address {
	var out []livestate.Address
	for _, a := range auto.Address {
		if !a.Learned() && !(a.IP.Is6() && a.IP.IsLinkLocalUnicast()) {
			out = append(out, livestate.Address{Prefix: a.Prefix()})
		}
	}
	return out
}

func leaseOf(auto nmstate.Auto, hostname string) *lease {
	l := &lease{IgnoreDNS: off(auto.AutoDNS), NoRoutes: off(auto.AutoRoutes), NoGateway: off(auto.AutoGateway)}
	if auto.AutoRouteMetric != nil {
		l.Metric = int(*auto.AutoRouteMetric)
	}
	if auto.AutoRouteTableID != nil {
		l.Table = int(*auto.AutoRouteTableID)
	}
	if !off(auto.DHCPSendHostname) {
		l.Hostname = hostname
		if auto.DHCPCustomHostname != "" {
			l.Hostname = auto.DHCPCustomHostname
		}
	}
	return l
}

func routeOf(r nmstate.Route) livestate.Route {
	destination, _ := livestate.Destination(r.Destination) // checked before
	out := livestate.Route{
		Destination: destination, Interface: r.NextHopInterface, Table: livestate.MainTable, Type: string(r.RouteType), Protocol: "static",
	}
	if via, err := netip.ParseAddr(r.NextHopAddress); err == nil && !via.IsUnspecified() {
		out.Via = via
	}
	if source, err := netip.ParseAddr(r.Source); err == nil {
		out.Source = source
	}
	if r.TableID != nil && *r.TableID != 0 {
		out.Table = int(*r.TableID)
	}
	if r.Metric != nil && *r.Metric > 0 {
		out.Metric = int(*r.Metric)
	}
	return out
}
