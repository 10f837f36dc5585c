package definition

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// reservedTypes are plugins that only runtimes and the agents of the pod network may call.
var reservedTypes = []string{delegate.Shim, "multus", "multus-cni"}

// hostLocal is the IPAM plugin that keeps its records in files of the node.
const hostLocal = "host-local"

// paths maps keys whose value is a path on the node to the only one that is allowed, the default of the plugin; empty if none is. Below the directory of
// records, each network has a directory, and each file in it is an address: a definition must not choose that of another network.
var paths = map[string]string{
	"dataDir": "/var/lib/cni/networks", "resolvConf": "/etc/resolv.conf", "kubeconfig": "", "kubernetes": "", "logFile": "", "daemonSocketPath": "",
	"log_file": "", "socket": "", "socket_file": "", "socketPath": "", "socketDir": "", "confDir": "", "binDir": "", "configuration_path": "",
}

func checkPlugin(p map[string]any, at *field.Path, rules Rules) field.ErrorList {
	if p == nil {
		return field.ErrorList{field.Forbidden(at, "is not an object")}
	}
	errs := checkType(p["type"], at.Child("type"), rules)
	for _, key := range []string{"prevResult", "runtimeConfig"} {
		if _, set := p[key]; set {
			errs = append(errs, field.Forbidden(at.Child(key), "is made for each pod and cannot be part of a definition; remove it"))
		}
	}
	if declared, set := p["capabilities"]; set {
		errs = append(errs, checkCapabilities(declared, at.Child("capabilities"))...)
	}
	errs = append(errs, checkPaths(p, at)...)
	errs = append(errs, checkDevices(p, at, rules)...)
	errs = append(errs, checkEgressRouter(p, at, rules)...)
	if ipam, set := p["ipam"]; set {
		o, ok := ipam.(map[string]any)
		if !ok {
			return append(errs, field.Forbidden(at.Child("ipam"), "is not an object"))
		}
		if len(o) > 0 {
			errs = append(errs, checkType(o["type"], at.Child("ipam", "type"), rules)...)
			errs = append(errs, checkAddresses(p, o, at)...)
		}
	}
	if rules.Restricted != nil {
		errs = append(errs, rules.Restricted.check(p, at)...)
	}
	return errs
}

// checkType checks that a plugin's name is a plain file name, and not reserved.
func checkType(value any, at *field.Path, rules Rules) field.ErrorList {
	name, ok := value.(string)
	switch {
	case !ok || name == "":
		return field.ErrorList{field.Required(at, "must be the name of a CNI plugin")}
	case !validNetwork(name):
		return field.ErrorList{field.Invalid(at, short(name), "must be the plain name of a CNI plugin: letters, digits, dot, hyphen and underscore")}
	case slices.Contains(reservedTypes, name), slices.Contains(rules.ReservedPlugins, name):
		return field.ErrorList{field.Invalid(at, name, "cannot be used in a definition; name the plugin that makes the interface")}
	}
	return nil
}

// checkAddresses checks the configuration of the IPAM plugin whereabouts before a pod uses it.
func checkAddresses(p, ipam map[string]any, at *field.Path) field.ErrorList {
	if ipam["type"] != whereaboutsType {
		return nil
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	_, errs := whereabouts.Parse(string(raw))
	for _, e := range errs {
		e.Field = at.String() + "." + e.Field
	}
	return errs
}

func checkCapabilities(value any, at *field.Path) field.ErrorList {
	declared, ok := value.(map[string]any)
	if !ok {
		return field.ErrorList{field.Forbidden(at, "is not an object of names with true or false")}
	}
	var w walker
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if _, ok := declared[name].(bool); !ok && !w.full() {
			w.add(field.Forbidden(at.Child(name), "must be true or false"))
		}
	}
	return w.errs
}

// checkPaths checks paths on the node in all objects of a plugin, since plugins read and write them as root. Our own plugins ignore log_file, which
// definitions of other clusters have.
func checkPaths(value any, at *field.Path) field.ErrorList {
	var w walker
	w.paths(value, at)
	return w.errs
}

func (w *walker) paths(value any, at *field.Path) {
	if w.full() {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		ignoresLogFile := v["type"] == egressrouter.Type || v["type"] == whereaboutsType
		for _, key := range slices.Sorted(maps.Keys(v)) {
			dir, isPath := paths[key]
			isPath = isPath && !(key == "log_file" && ignoresLogFile)
			text, isText := v[key].(string)
			switch {
			case !isPath:
				w.paths(v[key], at.Child(key))
			case dir == "", key == "dataDir" && v["type"] != hostLocal:
				w.add(field.Forbidden(at.Child(key), "a definition cannot name files of the node; remove it"))
			case !isText || text != dir:
				w.add(field.Invalid(at.Child(key), short(v[key]), "must be "+dir+"; leave it out"))
			}
		}
	case []any:
		for i, e := range v {
			w.paths(e, at.Index(i))
		}
	}
}

// validNetwork checks a name that becomes part of a path on nodes.
func validNetwork(name string) bool {
	if name == "" || len(name) > 63 {
		return false
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '.' && r != '-' && r != '_') {
			return false
		}
	}
	return true
}
