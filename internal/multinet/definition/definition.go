// Package definition reads the CNI configuration of a NetworkAttachmentDefinition, and returns the configuration that runs for a pod. It is strict: any
// account with that permission in a namespace writes definitions, and their plugins run as root on nodes. It refuses a configuration that a plugin
// could read in another way than this package. The package is pure: its caller provides the state of the node (Rules).
package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/selection"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// Rule is the origin of all errors of this package.
	Rule = "network-attachment-definition"
	// MaxSize is the maximum size of a configuration in bytes.
	MaxSize = 128 << 10
	// MaxPlugins is the maximum number of plugins of a configuration.
	MaxPlugins = 16
	// MaxKey is the maximum length of a key in bytes. It bounds the paths of errors, as MaxDepth does.
	MaxKey = 256
	// MaxDepth is the maximum depth of lists and objects.
	MaxDepth = 32
)

// whereaboutsType is the IPAM plugin whose ranges all nodes share.
const whereaboutsType = "whereabouts"

// Rules limit what a definition may use.
type Rules struct {
	// DefaultNetwork is the name of the pod network in its CNI configuration, whose address records no definition may share.
	DefaultNetwork string
	// ReservedBridges are bridges of the cluster's networks.
	ReservedBridges []string
	// ReservedPlugins are the plugins with which agents of the cluster's networks are called.
	ReservedPlugins []string
	// Uplinks are the interfaces of the node that have its addresses or a default route, or that carry the packets of one; nil if unknown.
	Uplinks []string
	// Node is the name of the node, Interfaces are its interfaces; nil if unknown. OtherNames maps alternative names of interfaces to their names: the kernel
	// takes them for one another.
	Node       string
	Interfaces []string
	OtherNames map[string]string
	// Restricted limits the definition further; nil for no limit.
	Restricted *Restricted
}

// Restricted has the limits of tenants' definitions.
type Restricted struct {
	// Namespace is that of the definition.
	Namespace string
	// PrefixOf is another namespace with the same BridgePrefix that used it first; empty for none.
	PrefixOf string
	// Masters are the interfaces that macvlan may use.
	Masters []string
	// Networks are the networks of the cluster, whose addresses a definition may not use.
	Networks []netip.Prefix
}

// Definition is a valid configuration.
type Definition struct {
	// Namespace and Name are those of the NetworkAttachmentDefinition, Network is the network's name in the configuration.
	Namespace, Name, Network string

	head    map[string]any
	plugins []map[string]any
	rules   Rules
}

// Parse reads the configuration of a definition. All errors are returned at once, up to strictjson.MaxErrors, with line and column in the configuration.
func Parse(namespace, name, config string, rules Rules) (*Definition, field.ErrorList) {
	at := field.NewPath("spec", "config")
	d := &Definition{Namespace: namespace, Name: name, rules: rules}
	if errs := sorted(d.parse(config, at)); len(errs) > 0 {
		strictjson.Locate(config, at, errs)
		return nil, strictjson.Bound(errs, at).WithOrigin(Rule)
	}
	return d, nil
}

// sorted returns errors in the order of their paths, since objects have none.
func sorted(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs.WithOrigin(Rule)
}

func (d *Definition) parse(config string, at *field.Path) field.ErrorList {
	if len(config) > MaxSize {
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("has %d bytes; at most %d are allowed", len(config), MaxSize))}
	}
	value, errs := strictjson.Parse(config, at)
	if value == nil && len(errs) > 0 {
		return errs
	}
	o, ok := value.(*strictjson.Object)
	if !ok {
		return append(errs, field.Forbidden(at, `is not a JSON object; write {"cniVersion": ..., "type": ...}`))
	}
	if unreadable := checkShape(o, at); len(unreadable) > 0 {
		return append(errs, unreadable...)
	}
	known := exact
	if d.rules.Restricted != nil {
		known = exactRestricted
	}
	errs = append(errs, checkSpelling(o, at, known)...)
	d.split(o.Map())
	errs = append(errs, d.checkHead(at)...)
	for i, p := range d.plugins {
		path := at
		if _, list := d.head["plugins"]; list {
			path = at.Child("plugins").Index(i)
		}
		errs = append(errs, checkPlugin(p, path, d.rules)...)
		errs = append(errs, checkMaster(p, path, i == 0, d.rules)...)
	}
	return errs
}

// split sets head and plugins, from a list or from a configuration with one plugin.
func (d *Definition) split(o map[string]any) {
	d.head = o
	if list, ok := o["plugins"].([]any); ok {
		for _, p := range list {
			plugin, _ := p.(map[string]any) // nil is refused
			d.plugins = append(d.plugins, plugin)
		}
		return
	}
	if _, ok := o["plugins"]; !ok {
		d.plugins = []map[string]any{o}
	}
}

func (d *Definition) checkHead(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	version, named := d.head["cniVersion"].(string)
	if _, set := d.head["cniVersion"]; set && (!named || !slices.Contains(cniproto.SupportedVersions(), version)) {
		errs = append(errs, field.NotSupported(at.Child("cniVersion"), short(d.head["cniVersion"]), cniproto.SupportedVersions()))
	}
	if _, set := d.head["cniVersions"]; set {
		errs = append(errs, field.Forbidden(at.Child("cniVersions"), "cannot be used here; write cniVersion"))
	}
	if load, set := d.head["loadOnlyInlinedPlugins"]; set && load != true {
		errs = append(errs, field.Forbidden(at.Child("loadOnlyInlinedPlugins"), "plugins of files are not added to a definition; remove it"))
	}
	d.Network = d.Name
	if given, set := d.head["name"]; set {
		text, ok := given.(string)
		if !ok || !validNetwork(text) {
			errs = append(errs, field.Invalid(at.Child("name"), short(given), "must be letters, digits, dot, hyphen and underscore, at most 63, and begin with a letter or digit"))
		}
		d.Network = text
	}
	if d.Network == d.rules.DefaultNetwork && d.Network != "" {
		errs = append(errs, field.Invalid(at.Child("name"), d.Network, "is the name of the pod network, whose addresses are recorded under it; use another name"))
	}
	if plugins, set := d.head["plugins"]; set {
		list, ok := plugins.([]any)
		switch {
		case !ok || len(list) == 0:
			errs = append(errs, field.Required(at.Child("plugins"), "must be a list of at least one plugin"))
		case len(list) > MaxPlugins:
			errs = append(errs, field.TooMany(at.Child("plugins"), len(list), MaxPlugins))
		}
		if _, both := d.head["type"]; both {
			errs = append(errs, field.Forbidden(at.Child("type"), "cannot be used together with plugins; remove one of them"))
		}
	}
	return errs
}

// Attach returns the attachment of a pod that has selected the network.
func (d *Definition) Attach(s selection.Selection) (wire.Attachment, field.ErrorList) {
	a := wire.Attachment{Network: d.Namespace + "/" + d.Name, Interface: s.Interface, DefaultRoute: s.DefaultRoute, Gateways: s.Gateways}
	runtime, errs := d.runtime(s)
	a.Runtime = runtime
	if d.rules.Restricted != nil {
		errs = append(errs, d.rules.Restricted.checkAddresses(s.CNIArgs, field.NewPath("cni-args"))...)
		for i, ip := range s.IPs {
			errs = append(errs, d.rules.Restricted.checkAddresses(ip, field.NewPath("ips").Index(i))...)
		}
	}
	list, err := d.list(s.CNIArgs)
	if err != nil {
		errs = append(errs, field.InternalError(field.NewPath("spec", "config"), err))
	}
	a.List = list
	return a, strictjson.Bound(sorted(errs), field.NewPath("spec", "config"))
}

// runtime returns the values of the capabilities that a selection needs. A capability that no plugin declares is an error, because the pod would start
// without the requested setting.
func (d *Definition) runtime(s selection.Selection) (map[string]any, field.ErrorList) {
	values := map[string]any{}
	if len(s.IPs) > 0 {
		values["ips"] = s.IPs
	}
	if s.MAC != "" {
		values["mac"] = s.MAC
	}
	if s.InfinibandGUID != "" {
		values["infinibandGUID"] = s.InfinibandGUID
	}
	if len(s.PortMappings) > 0 {
		var all []map[string]any
		for _, p := range s.PortMappings {
			all = append(all, map[string]any{"hostPort": p.HostPort, "containerPort": p.ContainerPort, "protocol": p.Protocol})
		}
		values["portMappings"] = all
	}
	if s.Bandwidth != nil {
		values["bandwidth"] = bandwidth(*s.Bandwidth)
	}
	if s.IPAMClaim != "" {
		values[whereabouts.ClaimKey] = s.IPAMClaim
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !d.declares(name) {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "config", "capabilities"),
				fmt.Sprintf(`a pod asks for %s, and no plugin of %s/%s declares it; add "capabilities": {%q: true} to the plugin that serves it`, name, d.Namespace, d.Name, name)))
		}
	}
	return values, errs
}

// smallestBurst returns the burst in bits of a limit without a burst, which the plugin requires: one second at the rate, and at least 256 Ethernet
// packets.
func smallestBurst(rate int64) int64 {
	const packets = 256 * 1514 * 8
	// The plugin's limit is a 32-bit number of bytes.
	const most = (1<<32 - 1) * 8
	return min(max(rate, packets), most)
}

func bandwidth(b selection.Bandwidth) map[string]any {
	out := map[string]any{}
	for _, limit := range []struct {
		name        string
		rate, burst int64
	}{{"ingress", b.IngressRate, b.IngressBurst}, {"egress", b.EgressRate, b.EgressBurst}} {
		if limit.rate == 0 {
			continue
		}
		if limit.burst == 0 {
			limit.burst = smallestBurst(limit.rate)
		}
		out[limit.name+"Rate"], out[limit.name+"Burst"] = limit.rate, limit.burst
	}
	return out
}

func (d *Definition) declares(capability string) bool {
	return slices.ContainsFunc(d.plugins, func(p map[string]any) bool {
		declared, _ := p["capabilities"].(map[string]any)
		return declared[capability] == true
	})
}

// list returns the configuration list, with the arguments of the pod merged into args.cni of each plugin. The pod's arguments take precedence.
func (d *Definition) list(args map[string]any) ([]byte, error) {
	head := map[string]any{"name": d.Network, "cniVersion": d.version(), "loadOnlyInlinedPlugins": true}
	for _, key := range []string{"disableCheck", "disableGC"} {
		if value, set := d.head[key]; set {
			head[key] = value
		}
	}
	var plugins []any
	for _, p := range d.plugins {
		p = maps.Clone(p)
		for _, key := range []string{"name", "cniVersion", "disableCheck", "disableGC", "loadOnlyInlinedPlugins"} {
			delete(p, key)
		}
		if len(args) > 0 {
			p["args"] = merged(p["args"], args)
		}
		plugins = append(plugins, p)
	}
	head["plugins"] = plugins
	return json.Marshal(head)
}

// version returns the CNI version of a definition; the oldest if it names none, as the specification requires.
func (d *Definition) version() string {
	if version, ok := d.head["cniVersion"].(string); ok {
		return version
	}
	return cniproto.SupportedVersions()[0]
}

func merged(own any, args map[string]any) map[string]any {
	all, _ := own.(map[string]any)
	all = maps.Clone(all)
	if all == nil {
		all = map[string]any{}
	}
	cni, _ := all["cni"].(map[string]any)
	cni = maps.Clone(cni)
	if cni == nil {
		cni = map[string]any{}
	}
	maps.Copy(cni, args)
	all["cni"] = cni
	return all
}

// Type returns the type of a definition's first plugin.
func (d *Definition) Type() string {
	name, _ := d.plugins[0]["type"].(string)
	return name
}

// Types returns the types of a definition's plugins and IPAM plugins, sorted and without duplicates.
func (d *Definition) Types() []string {
	var types []string
	for _, p := range d.plugins {
		for _, o := range []any{p, p["ipam"]} {
			if m, ok := o.(map[string]any); ok {
				if name, ok := m["type"].(string); ok && name != "" {
					types = append(types, name)
				}
			}
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// short returns a value as errors show it.
func short(value any) string { return strictjson.Short(fmt.Sprint(value)) }

// WithDevice returns a list whose plugins get a device, as deviceID and pciBusID.
func WithDevice(list []byte, id string) ([]byte, error) {
	var head map[string]any
	d := json.NewDecoder(bytes.NewReader(list))
	d.UseNumber()
	if err := d.Decode(&head); err != nil {
		return nil, fmt.Errorf("add the device to the configuration: %w", err)
	}
	plugins, _ := head["plugins"].([]any)
	for _, p := range plugins {
		if plugin, ok := p.(map[string]any); ok {
			plugin["deviceID"], plugin["pciBusID"] = id, id
		}
	}
	return json.Marshal(head)
}
