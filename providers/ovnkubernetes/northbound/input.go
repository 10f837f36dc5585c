package northbound

import (
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Owner is the owner of all rows.
const Owner = "ovnkube"

// Input has the API objects of a cluster. The order does not matter.
type Input struct {
	Cluster    Cluster
	Nodes      []Node
	Namespaces []netpolicy.Namespace
	Pods       []Pod
	Services   []Service
	Policies   []*networkingv1.NetworkPolicy
	// Multicast are the namespaces whose pods may send multicast to one another.
	Multicast []string
	// Logging has the severities of messages by namespace.
	Logging map[string]topology.Logging
}

// Cluster has the settings that all rows depend on.
type Cluster struct {
	// Networks are the pools of pod addresses: other destinations are egress traffic.
	Networks []netip.Prefix
}

// Node is a node with its blocks, at most one of each IP family, that of the cluster's first one first. A node without blocks has no switch.
type Node struct {
	Name   string
	Blocks []netip.Prefix
}

// Pod is a pod. It has no port without addresses, or while its node has no switch.
type Pod struct {
	netpolicy.Pod
	UID types.UID
	// Node is the name of the pod's node.
	Node string
	// MAC is the hardware address of the pod's interface.
	MAC net.HardwareAddr
	// Limits are the bandwidth limits of the pod.
	Limits bandwidth.Limits
}

// Service is a Service with all its EndpointSlices.
type Service struct {
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
}

// Set adds all objects of an input, or replaces those with the same names.
func (s *State) Set(in Input) {
	for _, n := range in.Nodes {
		s.SetNode(n)
	}
	for _, n := range in.Namespaces {
		s.SetNamespace(n)
	}
	for _, n := range in.Multicast {
		s.SetMulticast(n, true)
	}
	for n, l := range in.Logging {
		s.SetLogging(n, l)
	}
	for _, p := range in.Policies {
		s.SetPolicy(p)
	}
	for _, p := range in.Pods {
		s.SetPod(p)
	}
	for _, service := range in.Services {
		s.SetService(service)
	}
}

// Rows returns the rows of the northbound database, for ovsdb.Plan with Owner, and the problems of policies.
func Rows(in Input) ([]ovsdb.Desired, []netpolicy.Problem) {
	s := NewState(in.Cluster)
	s.Set(in)
	s.Changes()
	return s.Rows(), s.Problems()
}

// Options returns the options of NB_Global. ovn-northd has others of its own.
func Options() map[string]string {
	return map[string]string{
		// ovn-northd allocates hardware addresses with the same prefix as those of pods.
		"mac_prefix": "0a:58:0a",
	}
}

// Tables returns the tables and columns that the owner writes.
func Tables() map[string][]string {
	ids := "external_ids"
	return map[string][]string{
		tableRouter:      {"name", "ports", "policies", "static_routes", "options", ids},
		tableRouterPort:  {"name", "mac", "networks", ids},
		tableRoute:       {"ip_prefix", "nexthop", ids},
		tablePolicy:      {"priority", "match", "action", "nexthops", ids},
		tableSwitch:      {"name", "ports", "acls", "load_balancer", "load_balancer_group", "qos_rules", "other_config", ids},
		tablePort:        {"name", "type", "addresses", "port_security", "options", ids},
		tableBalancer:    {"name", "protocol", "vips", "options", "selection_fields", ids},
		tableBalancers:   {"name", "load_balancer"},
		tablePortGroup:   {"name", "ports", "acls", ids},
		tableAddresses:   {"name", "addresses", ids},
		tableAccessRules: {"name", "priority", "direction", "match", "action", "options", "log", "severity", "meter", ids},
		tableMeter:       {"name", "unit", "bands", ids},
		tableMeterBand:   {"action", "rate", ids},
		tableLimit:       {"priority", "direction", "match", "bandwidth", ids},
	}
}

const (
	tableRouter      = "Logical_Router"
	tableRouterPort  = "Logical_Router_Port"
	tableRoute       = "Logical_Router_Static_Route"
	tablePolicy      = "Logical_Router_Policy"
	tableSwitch      = "Logical_Switch"
	tablePort        = "Logical_Switch_Port"
	tableBalancer    = "Load_Balancer"
	tableBalancers   = "Load_Balancer_Group"
	tablePortGroup   = "Port_Group"
	tableAddresses   = "Address_Set"
	tableAccessRules = "ACL"
	tableMeter       = "Meter"
	tableMeterBand   = "Meter_Band"
	tableLimit       = "QoS"
)
