// Package policy translates MultiNetworkPolicies to the rules of one pod: an nftables table in the pod's network namespace, with chains for each
// interface that a policy isolates. It is pure. The semantics on a network are those of NetworkPolicies (package netpolicy), with the addresses of
// peers on the same network.
//
// No rule names the interface of the pod network. The protocols of a link are always allowed: ARP, which the table does not see, neighbor discovery and
// multicast listener messages. Replies, and ICMP errors of connections, are allowed, too.
package policy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// Policy is a MultiNetworkPolicy in the form in which it is enforced.
type Policy struct {
	networkingv1.NetworkPolicy
	// Networks are the networks of the policy, as namespace/name of their definitions.
	Networks []string
	// AllNetworks is true if the policy applies to all further networks, because its networks cannot be read.
	AllNetworks bool
}

// On reports whether the policy applies to a network, which is given as namespace/name.
func (p Policy) On(network string) bool { return p.AllNetworks || slices.Contains(p.Networks, network) }

// Pod is a pod with its further networks.
type Pod struct {
	// Pod is the pod without addresses; Addresses are ignored.
	netpolicy.Pod
	// Networks are the addresses on each network, by namespace/name of its definition. A pod that is being attached may have a network without addresses.
	Networks map[string][]netip.Addr
}

// Cluster has the objects from which rules are computed.
type Cluster struct {
	Namespaces []netpolicy.Namespace
	Pods       []Pod
	Policies   []Policy
}

// View has the translated policies of a network. Cluster.View creates it.
type View struct {
	result netpolicy.Result
	pods   map[netpolicy.ID]netpolicy.Pod
}

// View returns the rules of a network for all of its pods.
func (c Cluster) View(network string) View {
	in := netpolicy.Input{Namespaces: c.Namespaces}
	v := View{pods: map[netpolicy.ID]netpolicy.Pod{}}
	for _, p := range c.Pods {
		addresses, attached := p.Networks[network]
		if !attached {
			continue
		}
		one := p.Pod
		one.Addresses = addresses
		in.Pods, v.pods[one.ID] = append(in.Pods, one), one
	}
	for i := range c.Policies {
		if c.Policies[i].On(network) {
			in.Policies = append(in.Policies, &c.Policies[i].NetworkPolicy)
		}
	}
	v.result = netpolicy.Translate(in)
	return v
}

// Addresses returns the addresses of a pod on its further networks, by namespace/name, from the annotation k8s.v1.cni.cncf.io/network-status. Only the
// daemon of the node writes the annotation; one that cannot be read has no addresses.
func Addresses(annotation string) map[string][]netip.Addr {
	var entries []struct {
		Name    string   `json:"name"`
		IPs     []string `json:"ips"`
		Default bool     `json:"default"`
	}
	if annotation == "" || json.Unmarshal([]byte(annotation), &entries) != nil {
		return nil
	}
	var networks map[string][]netip.Addr
	for _, e := range entries {
		if e.Default {
			continue
		}
		if networks == nil {
			networks = map[string][]netip.Addr{}
		}
		addresses := networks[e.Name]
		for _, text := range e.IPs {
			if a, err := netip.ParseAddr(text); err == nil {
				addresses = append(addresses, a.Unmap().WithZone(""))
			}
		}
		networks[e.Name] = addresses
	}
	return networks
}

// Interface is an interface of a pod in a further network.
type Interface struct {
	// Name is the name of the interface, Network is namespace/name of the network's definition.
	Name, Network string
}

// NameError is the error of an interface whose name cannot be part of a rule, because nft has no syntax for it.
type NameError struct{ Interface }

func (e *NameError) Error() string {
	return fmt.Sprintf("the name %q of the interface in network %s cannot stand in a rule of a MultiNetworkPolicy; use letters, digits, and any of ._-+=", e.Name, e.Network)
}

func (i Interface) checkName() error {
	invalid := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-+=", r)
	}
	if i.Name == "" || strings.ContainsFunc(i.Name, invalid) {
		return &NameError{i}
	}
	return nil
}
