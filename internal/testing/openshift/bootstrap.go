package openshift

import (
	"embed"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/doctest"
)

// files holds the objects that every cluster has initially, before what differs between clusters is filled in.
//
//go:embed bootstrap/*.yaml
var files embed.FS

// Cluster is the input of an installer. There are no defaults.
type Cluster struct {
	// Name of the cluster, and BaseDomain that its names end with.
	Name, BaseDomain string
	// NetworkType is that of Network.config.
	NetworkType string
	// PodNetwork, ServiceNetwork and MachineNetwork have one prefix a family, the primary family first.
	PodNetwork, ServiceNetwork, MachineNetwork []netip.Prefix
	// HostPrefix are the lengths of the nodes' subnets, one for each of PodNetwork.
	HostPrefix []int
	// APIServer is where nodes find the API server.
	APIServer netip.AddrPort
	// ControlPlanes and Workers are numbers of nodes.
	ControlPlanes, Workers int
}

// Objects returns the objects that a new cluster has, on platform None: namespaces, the configuration that
// installer and cluster-version operator make, the pools of machines. Some have a status, which takes a write of its
// own. Each call returns new values.
func Objects(c Cluster) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, file := range []string{"bootstrap/namespaces.yaml", "bootstrap/config.yaml", "bootstrap/pools.yaml"} {
		content, err := files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		objects, err := doctest.Objects(content)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		all = append(all, objects...)
	}
	for _, o := range all {
		if err := c.fill(o); err != nil {
			return nil, fmt.Errorf("fill %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return all, nil
}

// fill sets what differs between clusters.
func (c Cluster) fill(o *unstructured.Unstructured) error {
	domain := c.Name + "." + c.BaseDomain
	set := func(value any, fields ...string) error {
		return unstructured.SetNestedField(o.Object, value, fields...)
	}
	switch o.GetKind() {
	case "Network":
		return set(c.network(), "spec")
	case "DNS":
		return set(domain, "spec", "baseDomain")
	case "Ingress":
		return set("apps."+domain, "spec", "domain")
	case "Infrastructure":
		for field, value := range c.infrastructure() {
			if err := set(value, "status", field); err != nil {
				return err
			}
		}
	case "ConfigMap":
		config, err := c.installConfig()
		if err != nil {
			return err
		}
		return set(config, "data", "install-config")
	}
	return nil
}

func (c Cluster) network() map[string]any {
	return map[string]any{"networkType": c.NetworkType, "clusterNetwork": c.pods(), "serviceNetwork": texts(c.ServiceNetwork)}
}

func (c Cluster) pods() []any {
	var entries []any
	for i, p := range c.PodNetwork {
		entries = append(entries, map[string]any{"cidr": p.String(), "hostPrefix": int64(c.HostPrefix[i])})
	}
	return entries
}

func (c Cluster) infrastructure() map[string]any {
	topology := func(nodes int) string {
		if nodes == 1 {
			return "SingleReplica"
		}
		return "HighlyAvailable"
	}
	domain := c.Name + "." + c.BaseDomain
	return map[string]any{
		"infrastructureName":     c.Name,
		"apiServerURL":           fmt.Sprintf("https://api.%s:%d", domain, c.APIServer.Port()),
		"apiServerInternalURI":   fmt.Sprintf("https://api-int.%s:%d", domain, c.APIServer.Port()),
		"controlPlaneTopology":   topology(c.ControlPlanes),
		"infrastructureTopology": topology(max(c.Workers, 1)),
		"etcdDiscoveryDomain":    "",
	}
}

// installConfig is what the installer keeps of its own input. Operators read numbers of machines and networks of it.
func (c Cluster) installConfig() (string, error) {
	var machines []any
	for _, p := range c.MachineNetwork {
		machines = append(machines, map[string]any{"cidr": p.String()})
	}
	config, err := yaml.Marshal(map[string]any{
		"apiVersion":   "v1",
		"baseDomain":   c.BaseDomain,
		"metadata":     map[string]any{"name": c.Name},
		"controlPlane": map[string]any{"name": "master", "replicas": c.ControlPlanes},
		"compute":      []any{map[string]any{"name": "worker", "replicas": c.Workers}},
		"networking": map[string]any{
			"networkType": c.NetworkType, "clusterNetwork": c.pods(), "serviceNetwork": texts(c.ServiceNetwork), "machineNetwork": machines,
		},
		"platform": map[string]any{"none": map[string]any{}},
	})
	return string(config), err
}

func texts(prefixes []netip.Prefix) []any {
	var out []any
	for _, p := range prefixes {
		out = append(out, p.String())
	}
	return out
}
