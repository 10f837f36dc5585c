// Package kargs converts a host's document to kernel arguments (dracut.cmdline(7)), for machines that support no other configuration at boot, as with a
// virtual machine's guestinfo or the boot loader's command line. NetworkManager of the initial file system reads them. Settings that kernel arguments cannot
// express are refused. The package is pure.
package kargs

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Arguments returns the kernel arguments of a document, in the order of the document, and a problem for each setting that they cannot express. There are
// arguments exactly if no problem is an error.
func Arguments(host string, doc *nmstate.Document) ([]string, nmstate.Problems) {
	w := writer{host: host, doc: doc}
	if doc.RouteRules != nil && len(doc.RouteRules.Config) > 0 {
		w.refuse("route-rules", "kernel arguments have no rules of routing")
	}
	ports := portsOf(doc)
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		path := fmt.Sprintf("interfaces[%d]", n)
		if !i.Up() || i.Name == "lo" {
			continue
		}
		w.link(i, path)
		if !ports[i.Name] {
			w.addresses(i, path)
		}
	}
	w.routes()
	w.servers()
	if w.problems.HasErrors() {
		return nil, w.problems.Sorted()
	}
	return w.args, w.problems.Sorted()
}

type writer struct {
	host     string
	doc      *nmstate.Document
	args     []string
	problems nmstate.Problems
}

func (w *writer) add(format string, values ...any) {
	w.args = append(w.args, fmt.Sprintf(format, values...))
}

func (w *writer) refuse(path, format string, values ...any) {
	w.problems.Errorf(w.doc, path, "%s; use keyfiles or an Ignition configuration", fmt.Sprintf(format, values...))
}

func portsOf(doc *nmstate.Document) map[string]bool {
	ports := map[string]bool{}
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		names, _ := i.Bond.Ports()
		if b := i.LinuxBridge; b != nil {
			for _, p := range b.Port {
				names = append(names, p.Name)
			}
		}
		for _, name := range names {
			ports[name] = true
		}
	}
	return ports
}

// link writes the arguments that create an interface.
func (w *writer) link(i *nmstate.Interface, path string) {
	switch {
	case i.Identifier == nmstate.IdentifierMAC:
		w.add("ifname=%s:%s", i.Name, strings.ToLower(i.MACAddress))
	case i.Found():
		w.refuse(path+".identifier", "kernel arguments find an interface by its name or its MAC address only")
	case i.MACAddress != "" && i.Kind() != nmstate.TypeEthernet:
		w.refuse(path+".mac-address", "kernel arguments give a MAC address to a network card only")
	}
	if i.IEEE8021X != nil {
		w.refuse(path+".802.1x", "kernel arguments have no 802.1X")
	}
	if i.CopyMACFrom != "" {
		w.refuse(path+".copy-mac-from", "kernel arguments do not copy a MAC address")
	}
	switch i.Kind() {
	case nmstate.TypeEthernet:
	case nmstate.TypeVLAN:
		w.vlan(i, path)
	case nmstate.TypeBond:
		w.bond(i, path)
	case nmstate.TypeLinuxBridge:
		w.bridge(i, path)
	default:
		w.refuse(path+".type", "kernel arguments cannot create an interface of type %s", i.Kind())
	}
}

// vlanName has the VLAN's number at its end: eno1.7, vlan7.
var vlanName = regexp.MustCompile(`^(?:vlan|.+\.)([0-9]+)$`)

func (w *writer) vlan(i *nmstate.Interface, path string) {
	if i.VLAN == nil {
		return // refused by the parser
	}
	id := strconv.Itoa(int(i.VLAN.ID))
	if m := vlanName.FindStringSubmatch(i.Name); m == nil || strings.TrimLeft(m[1], "0") != id {
		w.refuse(path+".name", "kernel arguments take the number of a VLAN from its name, and %q does not end in %s; name it %s.%s", i.Name, id, i.VLAN.BaseIface, id)
		return
	}
	if i.VLAN.Protocol != "" && i.VLAN.Protocol != "802.1q" {
		w.refuse(path+".vlan.protocol", "kernel arguments can create only VLANs of 802.1Q")
	}
	w.add("vlan=%s:%s", i.Name, i.VLAN.BaseIface)
}

func (w *writer) bond(i *nmstate.Interface, path string) {
	if i.Bond == nil {
		return
	}
	ports, _ := i.Bond.Ports()
	if len(ports) == 0 {
		w.refuse(path+".link-aggregation.port", "kernel arguments cannot create a bond without ports")
		return
	}
	options, err := bondOptions(i.Bond)
	if err != nil {
		w.refuse(path+".link-aggregation.options", "%v", err)
		return
	}
	text := fmt.Sprintf("bond=%s:%s:%s", i.Name, strings.Join(ports, ","), strings.Join(options, ","))
	if i.MTU != nil {
		text += fmt.Sprintf(":%d", *i.MTU)
	}
	w.add("%s", text)
}

func (w *writer) bridge(i *nmstate.Interface, path string) {
	if i.LinuxBridge == nil {
		return
	}
	var ports []string
	for n, p := range i.LinuxBridge.Port {
		if p.VLAN != nil {
			w.refuse(fmt.Sprintf("%s.bridge.port[%d].vlan", path, n), "kernel arguments have no VLANs of a bridge's port")
		}
		ports = append(ports, p.Name)
	}
	// The default of a bridge of kernel arguments is no STP; a document's is NetworkManager's, STP.
	if o := i.LinuxBridge.Options; o != nil && o.STP != nil && nmstate.Is(o.STP.Enabled) {
		w.refuse(path+".bridge.options.stp", "bridges of kernel arguments have no STP")
	}
	w.add("bridge=%s:%s", i.Name, strings.Join(ports, ","))
}

// addresses writes the ip arguments of an interface.
func (w *writer) addresses(i *nmstate.Interface, path string) {
	v4, v6 := i.IPv4.On(), i.IPv6.On()
	mtu := ""
	if i.MTU != nil && i.Kind() != nmstate.TypeBond {
		mtu = strconv.FormatUint(*i.MTU, 10)
	}
	dynamic := func(kind string) {
		text := "ip=" + i.Name + ":" + kind
		if mtu != "" {
			text += ":" + mtu
		}
		w.add("%s", text)
	}
	auto4, auto6 := i.IPv4.Automatic(), i.IPv6.Automatic()
	var static []nmstate.Address
	if v4 {
		static = append(static, i.IPv4.Address...)
	}
	if v6 {
		static = append(static, i.IPv6.Address...)
	}
	switch {
	case (auto4 || auto6) && len(static) > 0:
		w.refuse(path, "kernel arguments give %s either static or automatic addresses, and the document has both", i.Name)
	case auto4:
		// NetworkManager also enables automatic IPv6, and does not wait for it.
		dynamic("dhcp")
		if !auto6 {
			w.problems.Warnf(w.doc, path+".ipv6", "is automatic with the kernel argument ip=%s:dhcp, which there is only for both families", i.Name)
		}
	case auto6 && nmstate.Is(i.IPv6.DHCP) && !nmstate.Is(i.IPv6.Autoconf):
		dynamic("dhcp6")
	case auto6:
		dynamic("auto6")
	case len(static) > 0:
		w.static(i, static, mtu)
	case v6:
		dynamic("link6")
	}
}

func (w *writer) static(i *nmstate.Interface, addresses []nmstate.Address, mtu string) {
	given := map[bool]bool{}
	for _, a := range addresses {
		gateway := ""
		if four := a.IP.Is4(); !given[four] {
			gateway, given[four] = w.gateway(i.Name, four), true
		}
		text := fmt.Sprintf("ip=%s::%s:%d:%s:%s:none", bracketed(a.IP.String()), bracketed(gateway), a.PrefixLength, w.host, i.Name)
		if mtu != "" {
			text += ":" + mtu
		}
		w.add("%s", text)
	}
}

// gateway returns the next hop of the interface's default route of a family.
func (w *writer) gateway(name string, four bool) string {
	for _, r := range w.doc.Routes.GetConfig() {
		if destination, ok := isDefault(r); ok && destination.Addr().Is4() == four && r.NextHopInterface == name && !r.Absent() {
			return r.NextHopAddress
		}
	}
	return ""
}

func isDefault(r nmstate.Route) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(r.Destination)
	return p, err == nil && p.Bits() == 0
}

// routes writes the routes except default routes that are written with an address.
func (w *writer) routes() {
	seen := map[string]bool{}
	for n, r := range w.doc.Routes.GetConfig() {
		path := fmt.Sprintf("routes.config[%d]", n)
		if r.Absent() {
			continue
		}
		switch {
		case r.RouteType != "":
			w.refuse(path+".route-type", "kernel arguments have no routes of type %s", r.RouteType)
		case r.TableID != nil && *r.TableID != 0 && *r.TableID != 254:
			w.refuse(path+".table-id", "kernel arguments have routes of the main table only")
		case r.Metric != nil && *r.Metric > 0 || r.Weight != nil || r.Source != "" || r.MTU != nil:
			w.refuse(path, "kernel arguments have no metric, weight, source or MTU of a route")
		case r.NextHopAddress == "":
			w.refuse(path+".next-hop-address", "kernel arguments have no route without a gateway")
		}
		if p, ok := isDefault(r); ok && p.IsValid() {
			key := fmt.Sprint(p.Addr().Is4(), r.NextHopInterface)
			if w.hasStatic(r.NextHopInterface, p.Addr().Is4()) && !seen[key] {
				seen[key] = true
				continue // the gateway of its address
			}
		}
		w.add("rd.route=%s:%s:%s", bracketed(r.Destination), bracketed(r.NextHopAddress), r.NextHopInterface)
	}
}

func (w *writer) hasStatic(name string, four bool) bool {
	return slices.ContainsFunc(w.doc.Interfaces, func(i nmstate.Interface) bool {
		if i.Name != name || !i.Up() {
			return false
		}
		if four {
			return i.IPv4.On() && len(i.IPv4.Address) > 0
		}
		return i.IPv6.On() && len(i.IPv6.Address) > 0
	})
}

func (w *writer) servers() {
	if w.doc.DNS == nil || w.doc.DNS.Config == nil {
		return
	}
	c := w.doc.DNS.Config
	if len(c.Search) > 0 {
		w.problems.Warnf(w.doc, "dns-resolver.config.search", "is left out: kernel arguments have no search domains")
	}
	if len(c.Options) > 0 {
		w.problems.Warnf(w.doc, "dns-resolver.config.options", "is left out: kernel arguments have no options of the resolver")
	}
	for n, server := range c.Server {
		if strings.Contains(server, "%") {
			w.refuse(fmt.Sprintf("dns-resolver.config.server[%d]", n), "kernel arguments have no name server of an interface")
			continue
		}
		w.add("nameserver=%s", bracketed(server))
	}
}

// bracketed returns an IPv6 address or prefix in brackets, since colons separate the parts of an argument.
func bracketed(text string) string {
	if strings.Contains(text, ":") {
		return "[" + text + "]"
	}
	return text
}
