package livestate

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// rename puts the host's names in every place of a document that mentions an interface. It copies what it changes.
func rename(doc *nmstate.Document, names map[string]string) {
	if len(names) == 0 {
		return
	}
	one := func(name *string) {
		if to, ok := names[*name]; ok {
			*name = to
		}
	}
	for n := range doc.Interfaces {
		renameInterface(&doc.Interfaces[n], one)
	}
	if doc.Routes != nil {
		routes := *doc.Routes
		routes.Config = slices.Clone(routes.Config)
		for n := range routes.Config {
			one(&routes.Config[n].NextHopInterface)
		}
		doc.Routes = &routes
	}
	if doc.RouteRules != nil {
		rules := *doc.RouteRules
		rules.Config = slices.Clone(rules.Config)
		for n := range rules.Config {
			one(&rules.Config[n].IIF)
		}
		doc.RouteRules = &rules
	}
}

func renameInterface(i *nmstate.Interface, one func(*string)) {
	one(&i.CopyMACFrom)
	if i.Controller != nil {
		controller := *i.Controller
		one(&controller)
		i.Controller = &controller
	}
	if i.Bond != nil {
		bond := *i.Bond
		bond.Port, bond.PortsConfig = slices.Clone(bond.Port), slices.Clone(bond.PortsConfig)
		for n := range bond.Port {
			one(&bond.Port[n])
		}
		for n := range bond.PortsConfig {
			one(&bond.PortsConfig[n].Name)
		}
		i.Bond = &bond
	}
	if i.LinuxBridge != nil {
		bridge := *i.LinuxBridge
		bridge.Port = slices.Clone(bridge.Port)
		for n := range bridge.Port {
			one(&bridge.Port[n].Name)
		}
		i.LinuxBridge = &bridge
	}
	if i.OVSBridge != nil {
		renameOVS(i, one)
	}
	if i.VRF != nil {
		vrf := *i.VRF
		vrf.Port = slices.Clone(vrf.Port)
		for n := range vrf.Port {
			one(&vrf.Port[n])
		}
		i.VRF = &vrf
	}
	if i.VLAN != nil {
		vlan := *i.VLAN
		one(&vlan.BaseIface)
		i.VLAN = &vlan
	}
	if i.VXLAN != nil {
		vxlan := *i.VXLAN
		one(&vxlan.BaseIface)
		i.VXLAN = &vxlan
	}
	if i.MACVLAN != nil {
		macvlan := *i.MACVLAN
		one(&macvlan.BaseIface)
		i.MACVLAN = &macvlan
	}
}

func renameOVS(i *nmstate.Interface, one func(*string)) {
	bridge := *i.OVSBridge
	bridge.Port = slices.Clone(bridge.Port)
	for n := range bridge.Port {
		p := &bridge.Port[n]
		one(&p.Name)
		if p.Bond != nil {
			bond := *p.Bond
			bond.Port = slices.Clone(bond.Port)
			for m := range bond.Port {
				one(&bond.Port[m].Name)
			}
			p.Bond = &bond
		}
	}
	i.OVSBridge = &bridge
}
