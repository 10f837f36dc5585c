// Package selection reads the networks that a pod requests: the annotation k8s.v1.cni.cncf.io/networks in both forms of the Network Custom Resource
// Definition De-facto Standard 1.3, and v1.multus-cni.io/default-network in the same forms. It is strict, since a pod must not start without a requested
// network or setting. It is pure, and does not check whether the networks exist.
package selection

import (
	"fmt"
	"net/netip"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// Annotation is the annotation of a pod that asks for networks.
	Annotation = wire.AnnotationNetworks
	// Rule is the origin of all errors of Parse.
	Rule = "network-selection"
	// MaxNetworks is the maximum number of networks that a pod may request.
	MaxNetworks = 32
	// MaxSize is the maximum size of the annotation in bytes.
	MaxSize = 64 << 10
)

// Selection is a network that a pod requests. Fields that the pod omits have their zero values, except Namespace and Interface.
type Selection struct {
	// Namespace and Name are those of the NetworkAttachmentDefinition. Namespace is the pod's if the pod names none.
	Namespace, Name string
	// Interface is the interface in the pod: the one that the pod names, or net1, net2, ... by the place in the list; empty for a default network.
	Interface string
	// IPs are addresses as the pod writes them, with or without a prefix length.
	IPs []string
	// MAC is a hardware address of six bytes, InfinibandGUID one of eight, as the pod writes them.
	MAC, InfinibandGUID string
	// CNIArgs are merged into args.cni of the configuration. Numbers are of type json.Number.
	CNIArgs map[string]any
	// PortMappings are host ports for this interface.
	PortMappings []PortMapping
	// Bandwidth limits this interface; nil is no limit.
	Bandwidth *Bandwidth
	// DefaultRoute is true if the pod has the key default-route: this network then has the pod's default route. Without Gateways, the gateways are those
	// of the network.
	DefaultRoute bool
	Gateways     []netip.Addr
	// IPAMClaim is the name of an IPAMClaim in the pod's namespace.
	IPAMClaim string
}

// PortMapping is a port of the node that leads to a port of the pod.
type PortMapping struct {
	HostPort, ContainerPort int32
	// Protocol is tcp, udp or sctp; tcp if the pod names none.
	Protocol string
}

// Bandwidth has limits in bits and bits per second; 0 is no limit.
type Bandwidth struct {
	IngressRate, IngressBurst, EgressRate, EgressBurst int64
}

// Parse reads the annotation of a pod. A blank annotation, or an empty list, asks for no network. All errors are
// returned at once, up to strictjson.MaxErrors, each with the index in the list and the key; there are no selections then.
func Parse(annotation, podNamespace string) ([]Selection, field.ErrorList) {
	at := field.NewPath("metadata", "annotations").Key(Annotation)
	selections, errs := parse(annotation, podNamespace, at)
	for i := range selections {
		if selections[i].Interface == "" {
			selections[i].Interface = generated(i)
		}
	}
	if len(errs) == 0 {
		errs = validateTogether(selections, at)
	}
	if len(errs) > 0 {
		return nil, strictjson.Bound(errs, at).WithOrigin(Rule)
	}
	return selections, nil
}

// parse returns the networks of an annotation, without an interface where it names none.
func parse(annotation, podNamespace string, at *field.Path) ([]Selection, field.ErrorList) {
	text := strings.TrimSpace(annotation)
	switch {
	case len(annotation) > MaxSize:
		return nil, field.ErrorList{field.Forbidden(at, fmt.Sprintf("has %d bytes; at most %d are allowed", len(annotation), MaxSize))}
	case text == "":
		return nil, nil
	case strings.ContainsAny(text[:1], `[{"`):
		return parseJSON(annotation, podNamespace, at)
	}
	return parseShort(text, podNamespace, at)
}

func tooMany(count int, at *field.Path) field.ErrorList {
	if count <= MaxNetworks {
		return nil
	}
	return field.ErrorList{field.Forbidden(at, fmt.Sprintf("asks for %d networks; at most %d are allowed", count, MaxNetworks))}
}

// parseShort reads [namespace/]name[@interface], separated by commas.
func parseShort(text, podNamespace string, at *field.Path) ([]Selection, field.ErrorList) {
	items := strings.Split(text, ",")
	if errs := tooMany(len(items), at); len(errs) > 0 {
		return nil, errs
	}
	var selections []Selection
	var errs field.ErrorList
	for i, item := range items {
		item = strings.TrimSpace(item)
		item, iface, named := strings.Cut(item, "@")
		namespace, name, qualified := strings.Cut(item, "/")
		if !qualified {
			namespace, name = podNamespace, item
		}
		s := Selection{Namespace: namespace, Name: name}
		errs = append(errs, validateLabel(name, at.Index(i).Child("name"))...)
		if qualified {
			errs = append(errs, validateLabel(namespace, at.Index(i).Child("namespace"))...)
		}
		if named {
			s.Interface = iface
			errs = append(errs, validateInterface(iface, at.Index(i).Child("interface"))...)
		}
		selections = append(selections, s)
	}
	return selections, errs
}

// generated is the interface of the network at index i for which the pod names none.
func generated(i int) string { return fmt.Sprintf("net%d", i+1) }

func validateLabel(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "must be a name of at most 63 lower-case letters, digits and hyphens")}
	}
	if len(utilvalidation.IsDNS1123Label(name)) > 0 {
		return field.ErrorList{field.Invalid(at, strictjson.Short(name), "must be a name of at most 63 lower-case letters, digits and hyphens, which begins and ends with a letter or digit")}
	}
	return nil
}

func validateInterface(name string, at *field.Path) field.ErrorList {
	if name == "eth0" || name == "lo" {
		return field.ErrorList{field.Invalid(at, name, "is an interface that every pod has; use another name, or none for net1, net2, ... by the place in the list")}
	}
	errs := agentfile.ValidateInterface(at, name)
	for _, e := range errs {
		e.BadValue = strictjson.Short(name)
	}
	// The kernel replaces %d by a number, so that the interface would have another name than the pod asked for.
	unusual := func(r rune) bool { return r <= ' ' || r > '~' || r == '%' || r == '@' }
	if len(errs) == 0 && strings.ContainsFunc(name, unusual) {
		errs = append(errs, field.Invalid(at, name, "must be printable ASCII characters without % and @"))
	}
	return errs
}

// validateTogether checks for conflicts between the networks of a pod.
func validateTogether(selections []Selection, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	interfaces := map[string]int{}
	routes := map[bool]int{}
	for i, s := range selections {
		if first, ok := interfaces[s.Interface]; ok {
			errs = append(errs, field.Invalid(at.Index(i).Child("interface"), s.Interface,
				fmt.Sprintf("is also the interface of the network at index %d; a network that names no interface gets net1, net2, ... by its place in the list", first)))
		} else {
			interfaces[s.Interface] = i
		}
		for _, g := range s.Gateways {
			if first, ok := routes[g.Is4()]; ok && first != i {
				errs = append(errs, field.Invalid(at.Index(i).Child("default-route"), g.String(),
					fmt.Sprintf("the network at index %d has the default route of this IP family; only one network can have it", first)))
			} else {
				routes[g.Is4()] = i
			}
		}
	}
	return errs
}
