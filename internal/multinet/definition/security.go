package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
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

// BridgePrefix returns the prefix of the names of bridges that restricted definitions of a namespace may use. The kernel allows names of 15 characters, so that the
// hash is short: namespaces with the same prefix can be made. Restricted.PrefixOf keeps them apart.
func BridgePrefix(namespace string) string {
	sum := sha256.Sum256([]byte(namespace))
	return "br" + hex.EncodeToString(sum[:3]) + "-"
}

// allowed and allowedIPAM are the plugins and IPAM plugins of restricted definitions.
var (
	allowed     = []string{"macvlan", "bridge", "tuning", "bandwidth", "sbr", egressrouter.Type}
	allowedIPAM = []string{"static", "whereabouts", "dhcp"}
)

// check checks a plugin of a restricted definition.
func (r *Restricted) check(p map[string]any, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kind, _ := p["type"].(string)
	if kind != "" && !slices.Contains(allowed, kind) {
		errs = append(errs, field.NotSupported(at.Child("type"), short(kind), allowed))
	}
	switch kind {
	case "macvlan":
		if master, _ := p["master"].(string); !slices.Contains(r.Masters, master) {
			errs = append(errs, r.notAMaster(at.Child("master"), p["master"]))
		}
		errs = append(errs, sharedMaster(p["mode"], at.Child("mode"))...)
	case egressrouter.Type:
		errs = append(errs, r.checkEgressRouter(p, at)...)
	case "bridge":
		prefix := BridgePrefix(r.Namespace)
		if name, _ := p["bridge"].(string); !strings.HasPrefix(name, prefix) {
			errs = append(errs, field.Invalid(at.Child("bridge"), short(p["bridge"]), fmt.Sprintf("must begin with %q in namespace %s", prefix, r.Namespace)))
		}
		if r.PrefixOf != "" {
			errs = append(errs, field.Forbidden(at.Child("bridge"), fmt.Sprintf("the prefix %q is also that of namespace %s, which has older definitions; define bridges in a namespace of another name", prefix, r.PrefixOf)))
		}
		for _, key := range []string{"ipMasq", "isGateway", "isDefaultGateway"} {
			if p[key] == true {
				errs = append(errs, field.Forbidden(at.Child(key), "gives the node itself an address in the network, which restricted definitions may not do"))
			}
		}
	}
	if _, set := p["linkInContainer"]; set {
		errs = append(errs, field.Forbidden(at.Child("linkInContainer"), "cannot be used in restricted definitions: the master would be an interface of the pod; remove it"))
	}
	// The plugin static prefers the addresses of args to those of ipam.
	errs = append(errs, r.checkAddresses(p["args"], at.Child("args"))...)
	ipam, _ := p["ipam"].(map[string]any)
	if len(ipam) == 0 {
		return errs
	}
	if manager, _ := ipam["type"].(string); manager != "" && !slices.Contains(allowedIPAM, manager) {
		errs = append(errs, field.NotSupported(at.Child("ipam", "type"), short(manager), allowedIPAM))
	}
	return append(errs, r.checkAddresses(ipam, at.Child("ipam"))...)
}

// sharedMaster refuses the mode in which an interface takes all packets of the master, which other namespaces then cannot use.
func sharedMaster(mode any, at *field.Path) field.ErrorList {
	if text, _ := mode.(string); isPassthru(text) {
		return field.ErrorList{field.Forbidden(at, "passthru takes the master from the pods of all other namespaces; use another mode")}
	}
	return nil
}

// isPassthru reports whether a mode of macvlan is passthru, in letters of any case.
func isPassthru(mode string) bool { return strings.EqualFold(mode, "passthru") }

// checkAddresses refuses addresses of pods, Services and nodes in all values of an IPAM configuration. The destination of a default route alone may contain them.
func (r *Restricted) checkAddresses(value any, at *field.Path) field.ErrorList {
	var w walker
	w.addresses(value, at, r.Networks, "", "")
	return w.errs
}

// addresses checks a value that has the given key, in a value with the key outer; elements of lists have the key of the list.
func (w *walker) addresses(value any, at *field.Path, networks []netip.Prefix, outer, key string) {
	if w.full() {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			w.addresses(v[inner], at.Child(inner), networks, key, inner)
		}
	case []any:
		for i, e := range v {
			w.addresses(e, at.Index(i), networks, outer, key)
		}
	case string:
		p, ok := prefixOf(v)
		if !ok || outer == "routes" && key == "dst" && p.Bits() == 0 && strings.HasPrefix(v, p.Addr().String()+"/") {
			return
		}
		if i := slices.IndexFunc(networks, func(n netip.Prefix) bool { return contains(p, n) }); i >= 0 {
			w.add(field.Invalid(at, short(v), fmt.Sprintf("is in %s, which the cluster uses, or contains it; use other addresses", networks[i])))
		}
	}
}

// contains reports whether a prefix has addresses of a network. A short prefix of IPv6 has those of IPv4 too, as mapped addresses, which plugins take for IPv4.
func contains(p, network netip.Prefix) bool {
	return p.Overlaps(network) || network.Addr().Is4() && p.Overlaps(mappedIPv4)
}

// mappedIPv4 has the IPv4-mapped addresses of IPv6.
var mappedIPv4 = netip.MustParsePrefix("::ffff:0:0/96")

// prefixOf reads an address, a prefix, or a range of whereabouts (first-last/length).
func prefixOf(text string) (netip.Prefix, bool) {
	if _, last, ok := strings.Cut(text, "-"); ok {
		if p, err := netip.ParsePrefix(strings.TrimSpace(last)); err == nil {
			return unmapped(p), true
		}
	}
	if p, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
		return unmapped(p), true
	}
	if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

// unmapped returns a prefix, with IPv4-mapped IPv6 addresses converted to IPv4.
func unmapped(p netip.Prefix) netip.Prefix {
	if bits := mappedIPv4.Bits(); p.Addr().Is4In6() && p.Bits() >= bits {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-bits)
	}
	return p.Masked()
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
