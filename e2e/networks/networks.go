// Package networks contains the table of the networks that suites run on. A suite that does not select a network runs on each of them.
// The capabilities of a network are the traits and operands of its provider.
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

// Variable is the environment variable with the name of the network to use, as in make NETWORK=TYPE.
const Variable = "NETWORK"

// Network is a row of the table.
type Network struct {
	// Type is the value of spec.defaultNetwork.type.
	Type operatorv1.NetworkType
	// Variant distinguishes rows of one type; it is empty for the row with the defaults of the network.
	Variant string
	// Object is the path of the file with Network/cluster, relative to the checkout.
	Object string
	// Provider is the operator's provider of the network. It is nil for a network of a third party.
	Provider provider.Provider
	// Quick is true if make e2e runs the quick tier of the suite on it; make e2e-all runs the whole suite on every network.
	Quick bool
	// LabUp are additional options of lab up, such as a larger MTU between nodes.
	LabUp []string
	// Build, if not nil, builds images and manifests that the checkout does not contain, and returns the directory for Kit.Overlay.
	Build func(*kit.Kit) (overlay string, err error)
	// Manifest, if not empty, is the path of the third party's manifest that installs the network, relative to the checkout.
	Manifest string
	// Joins is the time for which pods of a newly ready node may be unable to reach those of other nodes; 0 means none.
	Joins time.Duration
	// Unserved are substrings of the names of connectivity test scenarios that the network does not support.
	Unserved []string
	// Encrypted is true if packets of pods between nodes are encrypted, in ESP that is wrapped in UDP port 4500.
	Encrypted bool
	// Unsafe, if not nil, makes a change that the operator refuses while the network is in use, and with which the network works after it
	// is forced.
	Unsafe func(*operatorv1.NetworkSpec)
	// NetNamespaces is true if NetNamespaces, HostSubnets and EgressNetworkPolicies give namespaces egress IPs, multicast and egress firewalls.
	NetNamespaces bool
	// Unidles is true if the first connection to an idled Service scales up its pods.
	Unidles bool
	// Left is a shell command that prints the state of the network on a node that uninstalling must remove, other than the agents' files.
	Left string
}

// Name returns the type, followed by a dash and the variant if there is one: OVNKubernetes, OVNKubernetes-DualStack.
func (n Network) Name() string {
	if n.Variant == "" {
		return string(n.Type)
	}
	return string(n.Type) + "-" + n.Variant
}

// All returns the table without the networks that are not implemented yet. The first network is the default.
func All() []Network {
	return slices.DeleteFunc(rows(), func(n Network) bool { return n.Provider == nil && n.Manifest == "" })
}

// leftByOVN prints the interfaces of OVN-Kubernetes.
const leftByOVN = "ip -o link | grep -e ovn -e br-int"

// vxlan sets flannel's backend to VXLAN. The default is routes without encapsulation.
func vxlan(s *operatorv1.NetworkSpec) {
	if s.DefaultNetwork.FlannelConfig == nil {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
	}
	s.DefaultNetwork.FlannelConfig.Backend = operatorv1.FlannelBackendVXLAN
}

// openShiftSDN returns the row of OpenShift SDN in the mode of a variant.
func openShiftSDN(variant, object string, quick bool) Network {
	return Network{
		Type: operatorv1.NetworkTypeOpenShiftSDN, Variant: variant, Object: "e2e/networks/openshiftsdn/" + object,
		Provider: released(operatorv1.NetworkTypeOpenShiftSDN), Quick: quick,
		// Tests of Kubernetes send UDP packets of 2 KiB.
		LabUp:         []string{"--mtu=9000"},
		NetNamespaces: variant != "Subnet",
		Unidles:       true,
		Unsafe: func(s *operatorv1.NetworkSpec) {
			if s.DefaultNetwork.OpenShiftSDNConfig == nil {
				s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{}
			}
			s.DefaultNetwork.OpenShiftSDNConfig.VXLANPort = new(uint32(4790))
		},
		Left: "ip -o link | grep -e tun0 -e br0 -e vxlan; nft list tables | grep openshift-sdn; ip -4 -o address | grep :eip",
	}
}

// otherTunnelPort sets a Geneve port other than the default of OVN-Kubernetes.
func otherTunnelPort(s *operatorv1.NetworkSpec) {
	if s.DefaultNetwork.OVNKubernetesConfig == nil {
		s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{}
	}
	s.DefaultNetwork.OVNKubernetesConfig.GenevePort = new(uint32(6082))
}

func rows() []Network {
	return []Network{
		{
			Type: operatorv1.NetworkTypeFlannel, Object: "config/samples/network-flannel.yaml", Provider: released(operatorv1.NetworkTypeFlannel), Quick: true,
			Unsafe: vxlan,
			Left:   "ip route | grep 10.244; ip -o link | grep -e cni0 -e flannel; ls /run/flannel/subnet.env 2>/dev/null; nft list tables | grep flannel",
		},
		{
			Type: operatorv1.NetworkTypeOVNKubernetes, Object: "e2e/networks/ovnkubernetes/network.yaml", Provider: released(operatorv1.NetworkTypeOVNKubernetes),
			Quick: true,
			// Tests of Kubernetes send UDP packets of 2 KiB.
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
			Type: operatorv1.NetworkTypeOVNKubernetes, Variant: "IPv6", Object: "e2e/networks/ovnkubernetes/ipv6.yaml",
			Provider: released(operatorv1.NetworkTypeOVNKubernetes), LabUp: []string{"--mtu=9000", "--ip-family=6"},
			Unsafe: otherTunnelPort,
			Left:   leftByOVN,
		},
		{
			Type: operatorv1.NetworkTypeOVNKubernetes, Variant: "IPsec", Object: "e2e/networks/ovnkubernetes/ipsec.yaml",
			Provider: released(operatorv1.NetworkTypeOVNKubernetes), LabUp: []string{"--mtu=9000"},
			// A node that joins or restarts reaches other nodes after it has exchanged keys.
			Joins:     time.Minute,
			Encrypted: true,
			Unsafe:    otherTunnelPort,
			Left:      leftByOVN + "; nft list tables | grep ovn-ipsec; ip rule | grep 6081",
		},
		openShiftSDN("", "network.yaml", true), openShiftSDN("Multitenant", "multitenant.yaml", false), openShiftSDN("Subnet", "subnet.yaml", false),
		{
			Type: "ThirdParty", Object: "e2e/networks/thirdparty/network.yaml",
			Build: thirdPartyImage, Manifest: "e2e/networks/thirdparty/daemonset.yaml",
		},
		{
			Type: toy.Type, Object: "e2e/networks/toy/network.yaml", Provider: toy.New(), Build: toyOverlay,
			// Kubelets may take a minute or two to update the ConfigMap with the table of nodes in their pods.
			Joins: 4 * time.Minute, Unserved: []string{"-> host port on "}, Left: "ip route | grep 10.244",
		},
	}
}

// Find returns the network with a name; an empty name means the default.
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

// released returns the provider of a network that releases contain; nil if it is not implemented yet.
func released(t operatorv1.NetworkType) provider.Provider {
	for _, p := range registry.Registry().Providers {
		if traits := p.Traits(); traits.Type == t && traits.NotBuilt == "" {
			return p
		}
	}
	return nil
}

// Traits returns the traits of the network.
func (n Network) Traits() provider.Traits {
	if n.Provider == nil {
		return registry.Registry().Traits(n.Type)
	}
	return n.Provider.Traits()
}

// Operands returns the operands of the network and of the components that run with it.
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

// Agents returns the DaemonSets that modify nodes.
func (n Network) Agents() []client.ObjectKey {
	var keys []client.ObjectKey
	for _, a := range n.Operands().Agents {
		keys = append(keys, client.ObjectKey{Namespace: a.Namespace, Name: a.Name})
	}
	return keys
}

// Files returns the files that remain on a node which the agents could not clean.
func (n Network) Files() []string {
	var files []string
	for _, a := range n.Operands().Agents {
		files = append(files, a.Files...)
	}
	return slices.Compact(files)
}

// YAML returns Network/cluster with changes to its spec.
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
