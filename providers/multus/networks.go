package multus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// API version and kind of networks' objects.
const (
	attachmentVersion = "k8s.cni.cncf.io/v1"
	attachmentKind    = "NetworkAttachmentDefinition"
)

// cniVersion is the version of rendered CNI configurations.
const cniVersion = "1.1.0"

// network is one NetworkAttachmentDefinition of the operator.
type network struct {
	key client.ObjectKey
	// config is the CNI configuration.
	config string
}

// object returns the NetworkAttachmentDefinition.
func (n network) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": n.config}}}
	o.SetAPIVersion(attachmentVersion)
	o.SetKind(attachmentKind)
	o.SetNamespace(n.key.Namespace)
	o.SetName(n.key.Name)
	return o
}

// keyOf returns the key of the object for an entry of spec.additionalNetworks.
func keyOf(n osv1.AdditionalNetworkDefinition) client.ObjectKey {
	key := client.ObjectKey{Namespace: n.Namespace, Name: n.Name}
	if key.Namespace == "" {
		key.Namespace = "default"
	}
	return key
}

// keysOf returns the sorted names of networks, as namespace/name.
func keysOf(networks []network) []string {
	keys := []string{}
	for _, n := range networks {
		keys = append(keys, n.key.String())
	}
	slices.Sort(keys)
	return keys
}

// networks returns the networks of the specification whose namespaces exist, and removed ones that pods still use.
func (o observed) networks(spec *operatorv1.NetworkSpec) ([]network, error) {
	var all []network
	for i := range spec.AdditionalNetworks {
		n := &spec.AdditionalNetworks[i]
		key := keyOf(*n)
		if o.missing[key.Namespace] {
			continue
		}
		config, err := configOf(n)
		if err != nil {
			return nil, fmt.Errorf("spec.additionalNetworks[%d]: %w", i, err)
		}
		all = append(all, network{key, config})
	}
	for _, u := range o.used {
		all = append(all, u.network)
	}
	return all, nil
}

// configOf returns the CNI configuration of an entry: the user's raw configuration unchanged, or the one generated from the short form.
func configOf(n *osv1.AdditionalNetworkDefinition) (string, error) {
	if n.Type == osv1.NetworkTypeRaw {
		return n.RawCNIConfig, nil
	}
	text, err := json.Marshal(macvlanConfig(n.Name, n.SimpleMacvlanConfig))
	return string(text), err
}

// pluginConfig is the configuration of the plugin macvlan. Without a master the plugin uses the interface of the node's default route, and without an MTU that
// of the interface.
type pluginConfig struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Master     string `json:"master,omitempty"`
	Mode       string `json:"mode"`
	MTU        uint32 `json:"mtu,omitempty"`
	// Capabilities must be a key of the plugin, not of its ipam: libcni passes runtime values only for those.
	Capabilities map[string]bool `json:"capabilities,omitempty"`
	IPAM         ipamConfig      `json:"ipam"`
}

type ipamConfig struct {
	Type      string          `json:"type"`
	Addresses []addressConfig `json:"addresses,omitempty"`
	Routes    []routeConfig   `json:"routes,omitempty"`
	DNS       *dnsConfig      `json:"dns,omitempty"`
}

type addressConfig struct {
	Address string `json:"address"`
	Gateway string `json:"gateway,omitempty"`
}

type routeConfig struct {
	Dst string `json:"dst"`
	GW  string `json:"gw,omitempty"`
}

type dnsConfig struct {
	Nameservers []string `json:"nameservers,omitempty"`
	Domain      string   `json:"domain,omitempty"`
	Search      []string `json:"search,omitempty"`
}

// macvlanConfig returns the configuration for the short form of a macvlan network. All of its fields are optional.
func macvlanConfig(name string, m *osv1.SimpleMacvlanConfig) pluginConfig {
	if m == nil {
		m = &osv1.SimpleMacvlanConfig{}
	}
	c := pluginConfig{CNIVersion: cniVersion, Name: name, Type: "macvlan", Master: m.Master, Mode: "bridge", MTU: m.MTU, IPAM: ipamConfig{Type: "dhcp"}}
	if m.Mode != "" {
		c.Mode = strings.ToLower(string(m.Mode))
	}
	if m.IPAMConfig == nil || m.IPAMConfig.Type != osv1.IPAMTypeStatic {
		return c
	}
	c.IPAM = staticConfig(m.IPAMConfig.StaticIPAMConfig)
	if len(c.IPAM.Addresses) == 0 {
		c.Capabilities = map[string]bool{"ips": true}
	}
	return c
}

func staticConfig(s *osv1.StaticIPAMConfig) ipamConfig {
	c := ipamConfig{Type: "static"}
	if s == nil {
		return c
	}
	for _, a := range s.Addresses {
		c.Addresses = append(c.Addresses, addressConfig{a.Address, a.Gateway})
	}
	for _, r := range s.Routes {
		c.Routes = append(c.Routes, routeConfig{r.Destination, r.Gateway})
	}
	if s.DNS != nil {
		c.DNS = &dnsConfig{s.DNS.Nameservers, s.DNS.Domain, s.DNS.Search}
	}
	return c
}
