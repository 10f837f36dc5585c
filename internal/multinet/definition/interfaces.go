package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// usedByNode is the detail of errors about interfaces among Rules.Uplinks.
const usedByNode = "has an address or the default route of the node, or carries the packets of such an interface, and the node would lose it; use another interface"

// checkDevices checks that a plugin does not take over an interface that the node needs.
func checkDevices(p map[string]any, at *field.Path, rules Rules) field.ErrorList {
	var errs field.ErrorList
	text := func(key string) string { s, _ := p[key].(string); return s }
	uplink := func(key string) {
		if slices.Contains(rules.Uplinks, text(key)) {
			errs = append(errs, field.Invalid(at.Child(key), text(key), usedByNode))
		}
	}
	switch text("type") {
	case "host-device":
		uplink("device")
		for _, key := range []string{"hwaddr", "kernelpath", "pciBusID"} {
			if _, set := p[key]; set && rules.Restricted == nil && len(rules.Uplinks) > 0 {
				errs = append(errs, field.Forbidden(at.Child(key), "names an interface in a way that cannot be checked; write its name as device"))
			}
		}
	case "macvlan":
		if isPassthru(text("mode")) {
			uplink("master")
			if text("master") == "" {
				errs = append(errs, field.Required(at.Child("master"), "must be set with mode passthru: the interface of the default route cannot be used"))
			}
		}
	case "bridge":
		name := text("bridge")
		if _, set := p["bridge"]; !set {
			name = "cni0" // the plugin's default
		}
		if slices.Contains(rules.ReservedBridges, name) {
			errs = append(errs, field.Invalid(at.Child("bridge"), name, "is the bridge of the pod network, where the interface could have the address of another pod; use another name"))
		}
		if slices.Contains(rules.Uplinks, name) && rules.Restricted != nil {
			errs = append(errs, field.Invalid(at.Child("bridge"), name, "has an address of the node"))
		}
	}
	return errs
}

// checkMaster checks that the node has the interface that a plugin uses, under this name. Plugins after the first may use one that an earlier one creates, but not
// move it into the pod or take all its packets.
func checkMaster(p map[string]any, at *field.Path, first bool, rules Rules) field.ErrorList {
	key, name := masterOf(p)
	if kind, _ := p["type"].(string); kind == "bridge" {
		key = "bridge"
		name, _ = p[key].(string)
	}
	if right, other := rules.OtherNames[name]; other {
		return field.ErrorList{field.Invalid(at.Child(key), short(name), fmt.Sprintf("is another name of the interface %s of the node %s; write %s", right, rules.Node, right))}
	}
	mode, _ := p["mode"].(string)
	takes := p["type"] == "host-device" || isPassthru(mode)
	if name == "" || key == "bridge" || !first && !takes || rules.Interfaces == nil || slices.Contains(rules.Interfaces, name) {
		return nil
	}
	return field.ErrorList{noInterface(at.Child(key), name, rules)}
}

// noInterface returns the error of an interface that the node does not have.
func noInterface(at *field.Path, name string, rules Rules) *field.Error {
	return field.Invalid(at, short(name), fmt.Sprintf("the node %s has no interface %s", rules.Node, short(name)))
}

// masterOf returns the key and the name of the node's interface that a plugin uses; empty if it names none.
func masterOf(p map[string]any) (key, name string) {
	kind, _ := p["type"].(string)
	key = map[string]string{"macvlan": "master", "ipvlan": "master", "vlan": "master", "host-device": "device"}[kind]
	if key == "" || p["linkInContainer"] == true {
		return "", ""
	}
	name, _ = p[key].(string)
	return key, name
}

// Master returns the interface of nodes that the definition uses; empty if it names none.
func (d *Definition) Master() string {
	if p := d.plugins[0]; p["type"] != egressrouter.Type {
		_, name := masterOf(p)
		return name
	}
	args, _ := d.plugins[0]["interfaceArgs"].(map[string]any)
	name, _ := args["master"].(string)
	return name
}

// isPassthru reports whether a mode of macvlan is passthru, in letters of any case.
func isPassthru(mode string) bool { return strings.EqualFold(mode, "passthru") }
