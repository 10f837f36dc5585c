// Package networks is the table of the networks that suites run on. A suite that names no network runs on each of them. What a network
// can do is in its provider's traits and operands, and not repeated here.
package networks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	registry "github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/toy"
)

// Variable is the environment variable with the name of the network to use. make passes NETWORK=TYPE on in it.
const Variable = "NETWORK"

// Network is a row of the table.
type Network struct {
	// Type is the value of spec.defaultNetwork.type.
	Type operatorv1.NetworkType
	// Variant distinguishes rows of one type; it is empty for the one with the network's defaults.
	Variant string
	// Object is the file with Network/cluster, a path in the checkout.
	Object string
	// Provider is the operator's side of the network. It is nil for a network of a third party.
	Provider provider.Provider
	// Tiers is which of its promises make e2e tests; make e2e-all tests all of them for every network.
	Tiers Tiers
	// LabUp are further options of lab up, such as a larger MTU between nodes.
	LabUp []string
	// Build, if not nil, builds what the checkout's images and configuration do not have, and returns the directory for Kit.Overlay.
	Build func(*kit.Kit) (overlay string, err error)
	// Manifest, if not empty, is a file that installs the network, a path in the checkout: the third party's part.
	Manifest string
	// Joins is how long pods of a node that has become ready may not reach those of other nodes; 0 is not at all.
	Joins time.Duration
	// Unserved are the scenarios of the connectivity test, by a part of their name, that the network does not promise.
	Unserved []string
	// Unsafe, if not nil, changes a setting that the operator refuses to change while the network is in use, and with which the network
	// works, too, once that is forced.
	Unsafe func(*operatorv1.NetworkSpec)
	// EgressIPs is whether namespaces can have egress IPs by NetNamespaces and HostSubnets.
	EgressIPs bool
	// Left is a shell command that prints what the network has on a node and uninstalling must remove, beside the files of its agents.
	Left string
}

// Name is the type, with the variant behind a dash: OVNKubernetes, OVNKubernetes-DualStack.
func (n Network) Name() string {
	if n.Variant == "" {
		return string(n.Type)
	}
	return string(n.Type) + "-" + n.Variant
}

// Tiers is how much of the suite make e2e runs.
type Tiers int

const (
	// None leaves a network to make e2e-all.
	None Tiers = iota
	// Quick is what is done within five minutes.
	Quick
	// Full is everything.
	Full
)

// All is the table, without the networks that are not built yet. The first network is the default.
func All() []Network {
	return slices.DeleteFunc(rows(), func(n Network) bool { return n.Provider == nil && n.Manifest == "" })
}

// leftByOVN prints the interfaces of OVN-Kubernetes.
const leftByOVN = "ip -o link | grep -e ovn -e br-int"

// vxlan has flannel wrap packets between nodes. By default it routes them.
func vxlan(s *operatorv1.NetworkSpec) {
	if s.DefaultNetwork.FlannelConfig == nil {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
	}
	s.DefaultNetwork.FlannelConfig.Backend = operatorv1.FlannelBackendVXLAN
}

// openShiftSDN is OpenShift SDN in the mode of a variant.
func openShiftSDN(variant, object string, tiers Tiers) Network {
	return Network{
		Type: operatorv1.NetworkTypeOpenShiftSDN, Variant: variant, Object: "e2e/networks/openshiftsdn/" + object,
		Provider: released(operatorv1.NetworkTypeOpenShiftSDN), Tiers: tiers,
		// Tests of Kubernetes send UDP packets of two kilobytes.
		LabUp:     []string{"--mtu=9000"},
		EgressIPs: variant != "Subnet",
		Unsafe: func(s *operatorv1.NetworkSpec) {
			if s.DefaultNetwork.OpenShiftSDNConfig == nil {
				s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{}
			}
			s.DefaultNetwork.OpenShiftSDNConfig.VXLANPort = new(uint32(4790))
		},
		Left: "ip -o link | grep -e tun0 -e br0 -e vxlan; nft list tables | grep openshift-sdn; ip -4 -o address | grep :eip",
	}
}

// otherTunnelPort is not the default of OVN-Kubernetes.
func otherTunnelPort(s *operatorv1.NetworkSpec) {
	if s.DefaultNetwork.OVNKubernetesConfig == nil {
		s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{}
	}
	s.DefaultNetwork.OVNKubernetesConfig.GenevePort = new(uint32(6082))
}

func rows() []Network {
	return []Network{
		{
			Type: operatorv1.NetworkTypeFlannel, Object: "config/samples/network-flannel.yaml", Provider: released(operatorv1.NetworkTypeFlannel), Tiers: Full,
			Unsafe: vxlan,
			Left:   "ip route | grep 10.244; ip -o link | grep -e cni0 -e flannel; ls /run/flannel/subnet.env 2>/dev/null; nft list tables | grep flannel",
		},
		{
			Type: operatorv1.NetworkTypeOVNKubernetes, Object: "e2e/networks/ovnkubernetes/network.yaml", Provider: released(operatorv1.NetworkTypeOVNKubernetes),
			Tiers: Quick,
			// Tests of Kubernetes send UDP packets of two kilobytes.
			LabUp:  []string{"--mtu=9000"},
			Unsafe: otherTunnelPort,
			Left:   leftByOVN,
		},
		{
			Type: operatorv1.NetworkTypeOVNKubernetes, Variant: "DualStack", Object: "e2e/networks/ovnkubernetes/dualstack.yaml",
			Provider: released(operatorv1.NetworkTypeOVNKubernetes), LabUp: []string{"--mtu=9000", "--ip-family=dual"},
			Unsafe: otherTunnelPort,
			Left:   leftByOVN,
		},
		{
			Type: operatorv1.NetworkTypeOVNKubernetes, Variant: "IPsec", Object: "e2e/networks/ovnkubernetes/ipsec.yaml",
			Provider: released(operatorv1.NetworkTypeOVNKubernetes), LabUp: []string{"--mtu=9000"},
			// A node that joins, or restarts, reaches others once it has keys.
			Joins:  time.Minute,
			Unsafe: otherTunnelPort,
			Left:   leftByOVN + "; nft list tables | grep ovn-ipsec; ip rule | grep 6081",
		},
		openShiftSDN("", "network.yaml", Quick), openShiftSDN("Multitenant", "multitenant.yaml", None), openShiftSDN("Subnet", "subnet.yaml", None),
		{
			Type: "ThirdParty", Object: "e2e/networks/thirdparty/network.yaml",
			Build: thirdPartyImage, Manifest: "e2e/networks/thirdparty/daemonset.yaml",
		},
		{
			Type: toy.Type, Object: "e2e/networks/toy/network.yaml", Provider: toy.New(), Build: toyOverlay,
			// Kubelets of the other nodes may take a minute or two to bring the table of nodes into their pods.
			Joins: 4 * time.Minute, Unserved: []string{"-> host port on "}, Left: "ip route | grep 10.244",
		},
	}
}

// Find returns the network of a name; that of an empty name is the default.
func Find(name string) (Network, error) {
	all := All()
	if name == "" {
		return all[0], nil
	}
	var names []string
	for _, n := range all {
		if n.Name() == name {
			return n, nil
		}
		names = append(names, n.Name())
	}
	return Network{}, fmt.Errorf("%s=%q is not in the table of networks: choose %s", Variable, name, strings.Join(names, ", "))
}

// released is the provider of a network that releases have; nil if it is not built yet.
func released(t operatorv1.NetworkType) provider.Provider {
	for _, p := range registry.Registry().Providers {
		if traits := p.Traits(); traits.Type == t && traits.NotBuilt == "" {
			return p
		}
	}
	return nil
}

// Traits is what the network can do.
func (n Network) Traits() provider.Traits {
	if n.Provider == nil {
		return registry.Registry().Traits(n.Type)
	}
	return n.Provider.Traits()
}

// Operands are what the operator has deployed for the network and beside it.
func (n Network) Operands() provider.Operands {
	var all []provider.Operands
	if owner, ok := n.Provider.(provider.OperandOwner); ok {
		all = append(all, owner.Operands())
	}
	for _, c := range registry.Registry().Components {
		if owner, ok := c.(provider.OperandOwner); ok && !(n.Traits().ServiceProxy && c.Name() == kubeProxy) {
			all = append(all, owner.Operands())
		}
	}
	return provider.Join(all...)
}

// kubeProxy is the component that networks without a service proxy need.
const kubeProxy = "KubeProxy"

// Agents are the DaemonSets that change nodes.
func (n Network) Agents() []client.ObjectKey {
	var keys []client.ObjectKey
	for _, a := range n.Operands().Agents {
		keys = append(keys, client.ObjectKey{Namespace: a.Namespace, Name: a.Name})
	}
	return keys
}

// Files are what the agents leave on a node that they could not clean.
func (n Network) Files() []string {
	var files []string
	for _, a := range n.Operands().Agents {
		files = append(files, a.Files...)
	}
	return slices.Compact(files)
}

// YAML is Network/cluster, changed by functions.
func (n Network) YAML(k *kit.Kit, changes ...func(*operatorv1.NetworkSpec)) (string, error) {
	data, err := os.ReadFile(filepath.Join(k.Root, n.Object))
	if err != nil || len(changes) == 0 {
		return string(data), err
	}
	var object operatorv1.Network
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		return "", fmt.Errorf("read %s: %w", n.Object, err)
	}
	for _, change := range changes {
		change(&object.Spec)
	}
	object.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	data, err = yaml.Marshal(struct {
		APIVersion string                  `json:"apiVersion"`
		Kind       string                  `json:"kind"`
		Metadata   map[string]string       `json:"metadata"`
		Spec       *operatorv1.NetworkSpec `json:"spec"`
	}{object.APIVersion, object.Kind, map[string]string{"name": object.Name}, &object.Spec})
	return string(data), err
}
