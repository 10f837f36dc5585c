package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// checkEgressRouter checks the configuration of the plugin egress-router before a pod uses it.
func checkEgressRouter(p map[string]any, at *field.Path, rules Rules) field.ErrorList {
	if p["type"] != egressrouter.Type {
		return nil
	}
	if _, named := p["name"]; !named {
		// The name of the network is set when a pod is attached.
		p = maps.Clone(p)
		p["name"] = egressrouter.Type
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	conf, errs := egressrouter.Parse(raw)
	for _, e := range errs {
		e.Field = at.String() + "." + e.Field
	}
	master := at.Child("interfaceArgs", "master")
	switch {
	case len(errs) > 0:
	case conf.Mode == "passthru" && conf.Master == "":
		errs = append(errs, field.Required(master, "must be set with mode passthru: the interface of the default route cannot be used"))
	case conf.Mode == "passthru" && slices.Contains(rules.Uplinks, conf.Master):
		errs = append(errs, field.Invalid(master, conf.Master, usedByNode))
	case conf.Master != "" && rules.Interfaces != nil && !slices.Contains(rules.Interfaces, conf.Master):
		errs = append(errs, noInterface(master, conf.Master, rules))
	}
	return errs
}

// checkEgressRouter checks an egress router of a restricted definition: it is a macvlan with an address.
func (r *Restricted) checkEgressRouter(p map[string]any, at *field.Path) field.ErrorList {
	args, _ := p["interfaceArgs"].(map[string]any)
	ip, _ := p["ip"].(map[string]any)
	var errs field.ErrorList
	if master, _ := args["master"].(string); !slices.Contains(r.Masters, master) {
		errs = append(errs, r.notAMaster(at.Child("interfaceArgs", "master"), args["master"]))
	}
	errs = append(errs, sharedMaster(args["mode"], at.Child("interfaceArgs", "mode"))...)
	return append(errs, r.checkAddresses(ip["addresses"], at.Child("ip", "addresses"))...)
}

// notAMaster returns the error of an interface that restricted definitions may not use.
func (r *Restricted) notAMaster(at *field.Path, value any) *field.Error {
	return field.Invalid(at, short(value), fmt.Sprintf("is not one of the interfaces that spec.multiNetwork.restricted.masters of the Network names: %s", strings.Join(r.Masters, ", ")))
}
