package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// securityKeys are the keys that affect what a plugin does on a node. Go's JSON decoder ignores case, and uses the last of several keys: a plugin would
// read a key that differs from these only in case, and the checks here would not.
var securityKeys = []string{
	"name", "cniVersion", "type", "plugins", "ipam", "capabilities", "args", "runtimeConfig", "prevResult", "delegate",
	"master", "mode", "bridge", "device", "hwaddr", "kernelpath", "pciBusID", "vlan", "linkInContainer",
	"dataDir", "resolvConf", "kubeconfig", "kubernetes", "log_file", "logFile", "socket", "socket_file", "daemonSocketPath", "socketPath", "socketDir", "confDir", "binDir", "configuration_path",
	"range", "ranges", "subnet", "addresses", "address", "ipRanges", "routes", "sysctl",
}

// restrictedKeys are further keys of the plugins that restricted definitions may use: a check of their exact spelling would not see what the plugin reads.
var restrictedKeys = []string{
	"isGateway", "isDefaultGateway", "ipMasq", "ipMasqBackend", "forceAddress", "hairpinMode", "promiscMode", "macspoofchk", "portIsolation", "preserveDefaultVlan", "vlanTrunk", "enabledad",
	"mtu", "mac", "cni", "ips", "bcqueuelen", "promisc", "allmulti", "txQLen", "gateway", "gw", "dst", "dns", "request", "provide",
	"ingressRate", "ingressBurst", "egressRate", "egressBurst", "shapedSubnets", "unshapedSubnets", "table", "addSourceHints", "linksInContainer",
}

// exact and exactRestricted map the keys whose spelling is checked, in their folded form, to that spelling.
var (
	exact           = folded(securityKeys)
	exactRestricted = folded(slices.Concat(securityKeys, restrictedKeys))
)

func folded(keys []string) map[string]string {
	all := map[string]string{}
	for _, key := range keys {
		all[fold(key)] = key
	}
	return all
}

// fold returns a text that is the same for all keys that Go's JSON decoder takes for one. strings.ToLower does not do so: it keeps the long s and the Kelvin sign.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, key)
}

// walker visits all values of a configuration until it has found strictjson.MaxErrors errors: a configuration can have thousands.
type walker struct{ errs field.ErrorList }

func (w *walker) add(e *field.Error) { w.errs = append(w.errs, e) }

func (w *walker) full() bool { return len(w.errs) >= strictjson.MaxErrors }

// checkShape reports keys that are too long, and values that are too deep.
func checkShape(value any, at *field.Path) field.ErrorList {
	var w walker
	w.shape(value, at, 1)
	return w.errs
}

func (w *walker) shape(value any, at *field.Path, depth int) {
	keys, list := []string(nil), []any(nil)
	o, isObject := value.(*strictjson.Object)
	if isObject {
		keys = o.Keys
	} else {
		list, _ = value.([]any)
	}
	if depth > MaxDepth && len(keys)+len(list) > 0 {
		w.add(field.Forbidden(at, fmt.Sprintf("has more than %d levels of lists and objects", MaxDepth)))
		return
	}
	for _, key := range keys {
		switch path := at.Child(strictjson.Short(key)); {
		case w.full():
			return
		case len(key) > MaxKey:
			w.add(field.Forbidden(path, fmt.Sprintf("is a key of %d bytes; at most %d are allowed", len(key), MaxKey)))
		default:
			w.shape(o.Values[key], path, depth+1)
		}
	}
	for i, e := range list {
		if w.full() {
			return
		}
		w.shape(e, at.Index(i), depth+1)
	}
}

// checkSpelling reports keys that a decoder confuses with another one, or with one of known, in all objects.
func checkSpelling(value any, at *field.Path, known map[string]string) field.ErrorList {
	var w walker
	w.spelling(value, at, known)
	return w.errs
}

func (w *walker) spelling(value any, at *field.Path, known map[string]string) {
	switch v := value.(type) {
	case *strictjson.Object:
		seen := map[string]bool{}
		for _, key := range v.Keys {
			if w.full() {
				return
			}
			folded := fold(key)
			if right, ok := known[folded]; ok && right != key {
				w.add(field.Forbidden(at.Child(key), fmt.Sprintf("differs from %q only in its letters; write %q", right, right)))
			} else if seen[folded] {
				w.add(field.Forbidden(at.Child(key), "differs from another key only in its letters; remove one of them"))
			}
			seen[folded] = true
			w.spelling(v.Values[key], at.Child(key), known)
		}
	case []any:
		for i, e := range v {
			if w.full() {
				return
			}
			w.spelling(e, at.Index(i), known)
		}
	}
}
