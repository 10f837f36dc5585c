package netlinkovs

import (
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// action is the action of a step.
type action string

// The actions, in the order of a plan.
const (
	deleteLink    action = "delete link"
	createLink    action = "create link"
	changeOVS     action = "change open vswitch"
	setController action = "set controller"
	setMAC        action = "set mac"
	setMTU        action = "set mtu"
	setSysctl     action = "set sysctl"
	setUp         action = "set up"
	setDown       action = "set down"
	setAllMulti   action = "set allmulticast"
	removeAltName action = "remove alternative name"
	addAltName    action = "add alternative name"
	awaitLACP     action = "await lacp"
	removeRoute   action = "remove route"
	removeAddress action = "remove address"
	addAddress    action = "add address"
	addRoute      action = "add route"
	removeRule    action = "remove rule"
	addRule       action = "add rule"
	getLease      action = "get lease"
	setDNS        action = "set dns"
	setHostname   action = "set hostname"
)

// step is a single change of the host. Only the fields of its action are set.
type step struct {
	action  action
	link    string
	value   string // of mac, mtu, controller, alternative name, hostname, and name=value of sysctl
	create  *livestate.Link
	address livestate.Address
	route   livestate.Route
	rule    livestate.Rule
	lease   *lease
	dns     livestate.DNS // of a lease: that of the document, to which that of the server is appended
	ovs     ovsbridge.Change
}

// String returns one line for logs and golden files.
func (s step) String() string {
	switch s.action {
	case changeOVS:
		text := string(s.action)
		for _, b := range s.ovs.Bridges {
			text += " +" + b.Name
		}
		for _, name := range s.ovs.Absent {
			text += " -" + name
		}
		return text
	case createLink:
		return fmt.Sprintf("%s %s (%s)", s.action, s.link, s.create.Kind)
	case removeAddress, addAddress:
		return fmt.Sprintf("%s %s %s", s.action, s.link, s.address.Prefix)
	case removeRoute, addRoute:
		return fmt.Sprintf("%s %s", s.action, routeText(s.route))
	case removeRule, addRule:
		return fmt.Sprintf("%s %d", s.action, s.rule.Priority)
	case setDNS:
		return fmt.Sprintf("%s %v", s.action, s.dns.Servers)
	}
	text := string(s.action)
	if s.link != "" {
		text += " " + s.link
	}
	if s.value != "" {
		text += " " + s.value
	}
	return text
}

func routeText(r livestate.Route) string {
	text := r.Destination.String()
	if r.Type != "" {
		text = r.Type + " " + text
	}
	if r.Via.IsValid() {
		text += " via " + r.Via.String()
	}
	if r.Interface != "" {
		text += " dev " + r.Interface
	}
	if r.Metric != 0 {
		text += fmt.Sprintf(" metric %d", r.Metric)
	}
	if r.Table != livestate.MainTable {
		text += fmt.Sprintf(" table %d", r.Table)
	}
	return text
}
