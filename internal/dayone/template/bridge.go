package template

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

const (
	// defaultBridge is the bridge of OVN-Kubernetes.
	defaultBridge = "br-ex"
	defaultBond   = "bond0"
	// routeMetric is the metric of the bridge's default route. It is lower than that of other cards, which is 100 or more, and equal to that of
	// configure-ovs.sh.
	routeMetric = 48
	// uplinkFound is the name in the document of a card that is identified by its address before the boot.
	uplinkFound = "uplink"
	// captured is the template for the name of the card of the capture "uplink".
	captured = "{{ capture.uplink.interfaces.0.name }}"
)

// builder builds the state of a bridge, in which all references have been replaced.
type builder struct {
	bridge *networkv1.Bridge
	at     *field.Path
	// preBoot is true for a document without captures, in which a card is identified by its address.
	preBoot bool
	errs    field.ErrorList
}

// build returns the state of a bridge, to be merged into that of a template.
func (b *builder) build() state {
	s := state{capture: tree{}, desired: tree{}}
	uplink, below := b.uplink(s.capture)
	name := b.name()
	internal := tree{"name": name, "type": "ovs-interface", "state": "up", "copy-mac-from": uplink}
	if b.bridge.MTU > 0 {
		internal["mtu"] = int64(b.bridge.MTU)
	}
	v4, v6 := b.bridge.IPv4, b.bridge.IPv6
	if v4 == nil && v6 == nil {
		v4 = &networkv1.Addressing{Method: networkv1.DHCP}
	}
	var routes []any
	internal["ipv4"], routes = b.family(v4, 4, name, routes)
	internal["ipv6"], routes = b.family(v6, 6, name, routes)
	s.desired["interfaces"] = append(below,
		tree{"name": name, "type": "ovs-bridge", "state": "up", "bridge": tree{"port": []any{tree{"name": uplink}, tree{"name": name}}}},
		internal)
	if len(routes) > 0 {
		s.desired["routes"] = tree{"config": routes}
	}
	if servers := b.servers(); len(servers) > 0 {
		s.desired["dns-resolver"] = tree{"config": tree{"server": servers}}
	}
	return s
}

func (b *builder) name() string {
	if b.bridge.Name == "" {
		return defaultBridge
	}
	return b.bridge.Name
}

// uplink returns the name of the interface below the bridge, and the declarations of its interfaces.
func (b *builder) uplink(capture tree) (string, []any) {
	u := &b.bridge.Uplink
	name, all := b.base(u, capture)
	if u.VLAN == nil {
		return name, all
	}
	tag := u.VLAN.ID.String()
	vlan := u.VLAN.Name
	if vlan == "" {
		vlan = name + "." + tag
		if u.MACAddress != "" {
			b.errs = append(b.errs, field.Required(b.at.Child("uplink", "vlan", "name"), "the name of the network card, from which it would be derived, is not known"))
		}
	}
	return vlan, append(all, b.bare(vlan, "vlan", tree{"vlan": tree{"base-iface": name, "id": tag}}))
}

func (b *builder) base(u *networkv1.Uplink, capture tree) (string, []any) {
	switch {
	case u.Bond != nil:
		name := u.Bond.Name
		if name == "" {
			name = defaultBond
		}
		var all, ports []any
		for _, port := range u.Bond.Ports {
			all, ports = append(all, b.bare(port, "ethernet", nil)), append(ports, port)
		}
		aggregation := tree{"mode": u.Bond.Mode, "port": ports}
		if len(u.Bond.Options) > 0 {
			options := tree{}
			for key, value := range u.Bond.Options {
				options[key] = value
			}
			aggregation["options"] = options
		}
		return name, append(all, b.bare(name, "bond", tree{"link-aggregation": aggregation}))
	case u.MACAddress != "" && b.preBoot:
		return uplinkFound, []any{b.bare(uplinkFound, "ethernet", tree{"identifier": "mac-address", "mac-address": u.MACAddress})}
	case u.MACAddress != "":
		// Match only cards, since the existing bridge has the MAC address of its card.
		capture["cards"] = `interfaces.type=="ethernet"`
		capture["uplink"] = fmt.Sprintf(`capture.cards | interfaces.mac-address==%q`, strings.ToUpper(u.MACAddress))
		return captured, []any{b.bare(captured, "ethernet", nil)}
	case u.Auto == networkv1.DefaultRoute:
		destination := "0.0.0.0/0"
		if b.bridge.IPv4 == nil && b.bridge.IPv6 != nil {
			destination = "::/0"
		}
		capture["default-route"] = fmt.Sprintf("routes.running.destination==%q", destination)
		capture["uplink"] = "interfaces.name==capture.default-route.routes.running.0.next-hop-interface"
		return captured, []any{b.bare(captured, "", nil)}
	}
	return u.Interface, []any{b.bare(u.Interface, "ethernet", nil)}
}

// bare returns an interface that is up and has no addresses.
func (b *builder) bare(name, kind string, more tree) tree {
	out := tree{"name": name, "state": "up", "ipv4": tree{"enabled": false}, "ipv6": tree{"enabled": false}}
	if kind != "" {
		out["type"] = kind
	}
	if b.bridge.MTU > 0 {
		out["mtu"] = int64(b.bridge.MTU)
	}
	for key, value := range more {
		out[key] = value
	}
	return out
}

// family returns the addresses of a family, and appends its default route to the routes.
func (b *builder) family(a *networkv1.Addressing, version int, through string, routes []any) (tree, []any) {
	at := b.at.Child(fmt.Sprintf("ipv%d", version))
	if a == nil || a.Method == networkv1.Disabled {
		return tree{"enabled": false}, routes
	}
	if a.Method == networkv1.DHCP {
		out := tree{"enabled": true, "dhcp": true, "auto-route-metric": int64(routeMetric)}
		if version == 6 {
			out["autoconf"] = true
		}
		return out, routes
	}
	out := tree{"enabled": true, "dhcp": false}
	if version == 6 {
		out["autoconf"] = false
	}
	prefix, err := netip.ParsePrefix(a.Address)
	if err != nil || prefix.Addr().Is4() != (version == 4) {
		b.errs = append(b.errs, field.Invalid(at.Child("address"), a.Address, fmt.Sprintf("is not an IPv%d address with a prefix; write for example %s", version, example(version))))
		return out, routes
	}
	out["address"] = []any{tree{"ip": prefix.Addr().String(), "prefix-length": int64(prefix.Bits())}}
	if a.Gateway == "" {
		return out, routes
	}
	gateway, err := netip.ParseAddr(a.Gateway)
	if err != nil || gateway.Is4() != (version == 4) {
		b.errs = append(b.errs, field.Invalid(at.Child("gateway"), a.Gateway, fmt.Sprintf("is not an IPv%d address", version)))
		return out, routes
	}
	if !prefix.Contains(gateway) && !gateway.IsLinkLocalUnicast() {
		b.errs = append(b.errs, field.Invalid(at.Child("gateway"), a.Gateway, fmt.Sprintf("is not in the network of the address, %s", prefix.Masked())))
	}
	destination := "0.0.0.0/0"
	if version == 6 {
		destination = "::/0"
	}
	return out, append(routes, tree{"destination": destination, "next-hop-address": gateway.String(), "next-hop-interface": through})
}

func example(version int) string {
	if version == 4 {
		return "192.0.2.10/24"
	}
	return "2001:db8::10/64"
}

func (b *builder) servers() []any {
	var all []any
	for i, server := range b.bridge.DNSServers {
		if _, err := netip.ParseAddr(server); err != nil {
			b.errs = append(b.errs, field.Invalid(b.at.Child("dnsServers").Index(i), server, "is not an IP address"))
			continue
		}
		all = append(all, server)
	}
	return all
}
