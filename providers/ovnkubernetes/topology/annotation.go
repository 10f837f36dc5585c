package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
)

const (
	// NodeSubnets is the annotation of a Node with its blocks. The master writes it.
	NodeSubnets = "k8s.ovn.org/node-subnets"
	// PodNetworks is the annotation of a Pod with its addresses. The master writes it.
	PodNetworks = "k8s.ovn.org/pod-networks"
	// Multicast is the annotation of a Namespace that, with the value true, lets its pods send multicast to one another.
	Multicast = "k8s.ovn.org/multicast-enabled"
	// ACLLogging is the annotation of a Namespace with the severities of messages about connections that its NetworkPolicies allow or deny.
	ACLLogging = "k8s.ovn.org/acl-logging"

	// network is the key of the cluster's default network in both.
	network = "default"
)

// EncodeNodeSubnets returns the value of NodeSubnets: {"default":["10.128.0.0/23"]}.
func EncodeNodeSubnets(blocks []netip.Prefix) string {
	return mustEncode(map[string][]netip.Prefix{network: blocks})
}

// DecodeNodeSubnets decodes the value of NodeSubnets: one or two blocks, at most one of each IP family, each with room for the router, the management port and
// a pod. A single block may be a string instead of a list.
func DecodeNodeSubnets(value string) ([]netip.Prefix, error) {
	var networks map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &networks); err != nil {
		return nil, fmt.Errorf("read annotation %s: %w", NodeSubnets, err)
	}
	var blocks []netip.Prefix
	if err := json.Unmarshal(networks[network], &blocks); err != nil {
		var one netip.Prefix
		if err := json.Unmarshal(networks[network], &one); err != nil {
			return nil, fmt.Errorf("annotation %s: network %q must have a list of blocks, such as [\"10.128.0.0/23\"]", NodeSubnets, network)
		}
		blocks = []netip.Prefix{one}
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("annotation %s: network %q has no block", NodeSubnets, network)
	}
	for i, b := range blocks {
		switch {
		case !b.IsValid() || b != b.Masked():
			return nil, fmt.Errorf("annotation %s: %s is not a block: its host bits must be 0", NodeSubnets, b)
		case b.Addr().BitLen()-b.Bits() < 3:
			return nil, fmt.Errorf("annotation %s: block %s is too small: it must have 8 addresses or more", NodeSubnets, b)
		case slices.ContainsFunc(blocks[:i], func(o netip.Prefix) bool { return o.Addr().Is4() == b.Addr().Is4() }):
			return nil, fmt.Errorf("annotation %s: more than one block of the IP family of %s", NodeSubnets, b)
		}
	}
	return blocks, nil
}

// Pod is the network of a pod, as assigned by the master.
type Pod struct {
	// Addresses are the pod's addresses with the prefix length of the node's block: one or two. The first is of the cluster's primary family.
	Addresses []netip.Prefix
	MAC       net.HardwareAddr
	// Gateways are the router's addresses, one for each address, in the same order.
	Gateways []netip.Addr
}

// podNetwork is the JSON format of Pod. Older readers use the fields for a single address.
type podNetwork struct {
	Addresses []netip.Prefix `json:"ip_addresses"`
	MAC       string         `json:"mac_address"`
	Gateways  []netip.Addr   `json:"gateway_ips,omitempty"`
	Address   string         `json:"ip_address,omitempty"`
	Gateway   string         `json:"gateway_ip,omitempty"`
	Role      string         `json:"role,omitempty"`
}

// Encode returns the value of PodNetworks. The pod must be valid for DecodePod.
func (p Pod) Encode() string {
	n := podNetwork{Addresses: p.Addresses, MAC: p.MAC.String(), Gateways: p.Gateways, Role: "primary"}
	if len(p.Addresses) == 1 {
		n.Address, n.Gateway = p.Addresses[0].String(), p.Gateways[0].String()
	}
	return mustEncode(map[string]podNetwork{network: n})
}

// DecodePod decodes the value of PodNetworks. It ignores other networks.
func DecodePod(value string) (Pod, error) {
	var networks map[string]podNetwork
	if err := json.Unmarshal([]byte(value), &networks); err != nil {
		return Pod{}, fmt.Errorf("read annotation %s: %w", PodNetworks, err)
	}
	n, found := networks[network]
	if !found {
		return Pod{}, fmt.Errorf("annotation %s: network %q is missing", PodNetworks, network)
	}
	mac, err := net.ParseMAC(n.MAC)
	if err != nil || len(mac) != 6 {
		return Pod{}, fmt.Errorf("annotation %s: %q is not a hardware address of 6 bytes", PodNetworks, n.MAC)
	}
	p := Pod{Addresses: n.Addresses, MAC: mac, Gateways: n.Gateways}
	if err := p.validate(); err != nil {
		return Pod{}, fmt.Errorf("annotation %s: %w", PodNetworks, err)
	}
	return p, nil
}

func (p Pod) validate() error {
	if len(p.Addresses) == 0 || len(p.Addresses) > 2 {
		return fmt.Errorf("%d addresses: a pod has one, or one of each IP family", len(p.Addresses))
	}
	if len(p.Gateways) != len(p.Addresses) {
		return fmt.Errorf("%d gateways for %d addresses: each address needs one", len(p.Gateways), len(p.Addresses))
	}
	for i, a := range p.Addresses {
		if !a.IsValid() || !a.Contains(p.Gateways[i]) || p.Gateways[i] == a.Addr() {
			return fmt.Errorf("gateway %s does not belong to address %s", p.Gateways[i], a)
		}
	}
	if len(p.Addresses) == 2 && p.Addresses[0].Addr().Is4() == p.Addresses[1].Addr().Is4() {
		return errors.New("two addresses of one IP family")
	}
	return nil
}

// mustEncode encodes values of this package's types, which cannot fail.
func mustEncode(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Logging has the severities of messages about connections that NetworkPolicies allow and deny. An empty severity disables messages.
type Logging struct {
	Allow, Deny string
}

// Severities returns the severities of messages, the highest one first.
func Severities() []string { return []string{"alert", "warning", "notice", "info", "debug"} }

// DecodeLogging decodes the value of ACLLogging: {"deny":"alert","allow":"notice"}. An empty value disables messages. On an error it returns the valid part.
func DecodeLogging(value string) (Logging, error) {
	if value == "" {
		return Logging{}, nil
	}
	var given map[string]string
	if err := json.Unmarshal([]byte(value), &given); err != nil {
		return Logging{}, fmt.Errorf(`annotation %s: %q is not an object of strings, such as {"deny":"alert","allow":"notice"}`, ACLLogging, value)
	}
	var out Logging
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		severity := given[name]
		at := map[string]*string{"allow": &out.Allow, "deny": &out.Deny}[name]
		switch {
		case at == nil:
			problems = append(problems, fmt.Errorf("annotation %s: %q is neither allow nor deny", ACLLogging, name))
		case severity != "" && !slices.Contains(Severities(), severity):
			problems = append(problems, fmt.Errorf("annotation %s: %s: %q is not one of %s", ACLLogging, name, severity, strings.Join(Severities(), ", ")))
		default:
			*at = severity
		}
	}
	return out, errors.Join(problems...)
}
