package template

import (
	"errors"
	"fmt"
	"slices"
)

// withoutOVS returns a document that connects a host to the same network without Open vSwitch: it removes bridges, and moves the addresses of the host's
// interface on a bridge, and the routes through it, to the interface below. It does not modify the tree. The error has all reasons why this is impossible.
func withoutOVS(document tree) (tree, error) {
	if _, ok := document[keyCapture]; ok {
		return nil, errors.New("it evaluates captures on the running host, which is not available before the boot; give the host a desiredState, or name the uplink by interface or macAddress")
	}
	r := remover{successors: map[string]string{}, bridges: map[string]bool{}}
	interfaces := list(document["interfaces"])
	for _, item := range interfaces {
		if i, ok := item.(tree); ok && word(i, "type") == "ovs-bridge" {
			r.bridge(i, interfaces)
		}
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	out := tree{}
	for key, value := range document {
		switch key {
		case "ovs-db", "ovn":
		case "interfaces":
			out[key] = r.interfaces(interfaces)
		case "routes":
			out[key] = r.rename(value, "next-hop-interface")
		case "route-rules":
			out[key] = r.rename(value, "iif")
		default:
			out[key] = value
		}
	}
	return out, nil
}

type remover struct {
	// successors maps the name of an interface on a bridge to that of the interface below.
	successors map[string]string
	// bridges are the names of bridges.
	bridges map[string]bool
	errs    []error
}

// bridge determines the successor of the interface on a bridge.
func (r *remover) bridge(bridge tree, all []any) {
	name := word(bridge, "name")
	r.bridges[name] = true
	settings, _ := bridge["bridge"].(tree)
	var internal, below []string
	for _, item := range list(settings["port"]) {
		port, _ := item.(tree)
		switch {
		case port["link-aggregation"] != nil:
			r.errs = append(r.errs, fmt.Errorf("the bridge %s bonds its ports (%s), which only Open vSwitch can do; use an interface of type bond below the bridge", name, word(port, "name")))
			return
		case has(all, word(port, "name"), "ovs-interface"):
			internal = append(internal, word(port, "name"))
			if port["vlan"] != nil {
				r.errs = append(r.errs, fmt.Errorf("the port %s of the bridge %s has a VLAN, which only Open vSwitch can do; use an interface of type vlan below the bridge", word(port, "name"), name))
			}
		case word(port, "name") == name:
			// An undeclared port with the bridge's name is its internal port, without addresses.
		default:
			below = append(below, word(port, "name"))
		}
	}
	internal = slices.DeleteFunc(internal, func(n string) bool { return !addressed(all, n) })
	switch {
	case len(internal) == 0:
	case len(internal) > 1:
		r.errs = append(r.errs, fmt.Errorf("several interfaces of the bridge %s have addresses (%v), and only one can move to the interface below", name, internal))
	case len(below) != 1:
		r.errs = append(r.errs, fmt.Errorf("the bridge %s has %d interfaces below, and the addresses of %s need one to move to", name, len(below), internal[0]))
	case !declared(all, below[0]):
		r.errs = append(r.errs, fmt.Errorf("the bridge %s is on %s, which the document does not declare; add it to interfaces", name, below[0]))
	default:
		r.successors[internal[0]] = below[0]
	}
}

func has(all []any, name, kind string) bool { return find(all, tree{"name": name, "type": kind}) >= 0 }

// declared reports whether the document declares an interface that does not belong to Open vSwitch.
func declared(all []any, name string) bool {
	return slices.ContainsFunc(all, func(item any) bool {
		i, ok := item.(tree)
		return ok && word(i, "name") == name && !isOVS(word(i, "type"))
	})
}

// addressed reports whether an interface on a bridge has addresses of a family.
func addressed(all []any, name string) bool {
	i := find(all, tree{"name": name, "type": "ovs-interface"})
	if i < 0 {
		return false
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if ip, ok := all[i].(tree)[family].(tree); ok && ip["enabled"] != nil && ip["enabled"] != false && ip["enabled"] != "false" {
			return true
		}
	}
	return false
}

// interfaces returns the interfaces that do not belong to Open vSwitch, with the addresses that move to them.
func (r *remover) interfaces(all []any) []any {
	inherits := map[string]tree{}
	for _, item := range all {
		if i, ok := item.(tree); ok && word(i, "type") == "ovs-interface" && r.successors[word(i, "name")] != "" {
			inherits[r.successors[word(i, "name")]] = i
		}
	}
	var out []any
	for _, item := range all {
		i, ok := item.(tree)
		if ok && isOVS(word(i, "type")) {
			continue
		}
		if !ok {
			out = append(out, item)
			continue
		}
		kept := overlay(i, nil)
		delete(kept, "ovs-db")
		if r.bridges[word(i, "controller")] {
			delete(kept, "controller")
		}
		if from, ok := inherits[word(i, "name")]; ok {
			for _, key := range []string{"ipv4", "ipv6", "wait-ip", "mptcp"} {
				if from[key] != nil {
					kept[key] = from[key]
				}
			}
		}
		out = append(out, kept)
	}
	return out
}

// rename returns the routes or rules with interfaces on bridges replaced by their successors.
func (r *remover) rename(value any, key string) any {
	section, ok := value.(tree)
	if !ok {
		return value
	}
	out := overlay(section, nil)
	var config []any
	for _, item := range list(section["config"]) {
		entry, ok := item.(tree)
		if successor := r.successors[word(entry, key)]; ok && successor != "" {
			entry = overlay(entry, tree{key: successor})
			item = entry
		}
		config = append(config, item)
	}
	if config != nil {
		out["config"] = config
	}
	return out
}
