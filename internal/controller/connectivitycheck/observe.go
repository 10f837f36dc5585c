package connectivitycheck

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
)

type check = operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck

// observation is the observed state of the cluster.
type observation struct {
	enabled bool
	// config is OpenShift's Network; nil if it does not exist.
	config   *configv1.Network
	topology connectivity.Topology
	// nodeOf maps the addresses of nodes to their names. down contains the nodes whose kubelet does not respond.
	nodeOf map[string]string
	down   map[string]bool
	checks map[string]*check
	// short are the short names of all nodes; nil until they are needed.
	short connectivity.Names
}

// observe reads everything from the cache.
func (c *Controller) observe(ctx context.Context) (*observation, error) {
	seen := &observation{nodeOf: map[string]string{}, down: map[string]bool{}, checks: map[string]*check{}}
	for _, read := range []func(context.Context, *observation) error{c.readEnabled, c.readNodes, c.readChecks, c.readPods, c.readAPIServers, c.readLoadBalancers} {
		if err := read(ctx, seen); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// readEnabled reads whether checks are enabled.
func (c *Controller) readEnabled(ctx context.Context, seen *observation) error {
	var network operatorv1.Network
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read network: %w", err)
	}
	exists := err == nil
	var config configv1.Network
	if found, err := c.optional(ctx, kindConfig, &config); err != nil {
		return err
	} else if found {
		seen.config = &config
	}
	var diagnostics *configv1.NetworkDiagnostics
	if seen.config != nil {
		diagnostics = &seen.config.Spec.NetworkDiagnostics
	}
	seen.enabled = exists && connectivity.Enabled(diagnostics, network.Spec.DisableNetworkDiagnostics)
	return nil
}

// optional reads the singleton of an OpenShift kind. It returns false if the kind or the object does not exist.
func (c *Controller) optional(ctx context.Context, kind schema.GroupKind, into client.Object) (bool, error) {
	served, err := c.Serves(kind)
	if err != nil || !served {
		return false, err
	}
	err = c.Client.Get(ctx, client.ObjectKey{Name: "cluster"}, into)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %s: %w", kind, err)
	}
	return err == nil, nil
}

func (c *Controller) readNodes(ctx context.Context, seen *observation) error {
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	seen.topology.Nodes = make(map[string]string, len(nodes.Items))
	for i := range nodes.Items {
		n := &nodes.Items[i]
		seen.topology.Nodes[n.Name] = string(n.UID)
		if isDown(n) {
			seen.down[n.Name] = true
		}
		for _, a := range n.Status.Addresses {
			seen.nodeOf[a.Address] = n.Name
		}
	}
	return nil
}

// isDown reports whether the kubelet of a node does not respond. A kubelet that reports NotReady may do so because of the network, and does
// not count.
func isDown(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
	})
}

func (c *Controller) readChecks(ctx context.Context, seen *observation) error {
	var checks operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckList
	if err := c.Client.List(ctx, &checks, client.InNamespace(connectivity.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list checks: %w", err)
	}
	for i := range checks.Items {
		if connectivity.IsCheckName(checks.Items[i].Name) {
			seen.checks[checks.Items[i].Name] = &checks.Items[i]
		}
	}
	return nil
}

// readPods reads sources and targets from the EndpointSlices of their Services.
func (c *Controller) readPods(ctx context.Context, seen *observation) error {
	err := c.endpoints(ctx, sources, func(e discoveryv1.Endpoint, _ string) {
		if e.TargetRef == nil || e.NodeName == nil || isTrue(e.Conditions.Terminating, false) {
			return
		}
		seen.topology.Sources = append(seen.topology.Sources, connectivity.Source{Node: *e.NodeName, Pod: e.TargetRef.Name, Ready: isTrue(e.Conditions.Ready, true)})
	})
	if err != nil {
		return err
	}
	// Targets that are not ready are checked, too: they may be not ready because they are unreachable.
	err = c.endpoints(ctx, targets, func(e discoveryv1.Endpoint, endpoint string) {
		if e.NodeName != nil && !isTrue(e.Conditions.Terminating, false) {
			seen.topology.Targets = append(seen.topology.Targets, connectivity.Target{Node: *e.NodeName, Endpoint: endpoint})
		}
	})
	if err != nil {
		return err
	}
	return c.services(ctx, seen, targets, connectivity.TargetName+"-service-cluster")
}

// readAPIServers reads the addresses of API servers and their Services.
func (c *Controller) readAPIServers(ctx context.Context, seen *observation) error {
	var infrastructure configv1.Infrastructure
	if _, err := c.optional(ctx, kindInfrastructure, &infrastructure); err != nil {
		return err
	}
	var svc corev1.Service
	if found, err := c.service(ctx, kubernetes, &svc); err != nil {
		return err
	} else if found {
		for i, address := range svc.Spec.ClusterIPs {
			seen.add("kubernetes-default-service-cluster-"+strconv.Itoa(i), net.JoinHostPort(address, "443"))
		}
	}
	if infrastructure.Status.ControlPlaneTopology == configv1.ExternalTopologyMode {
		return nil // the API servers run in another cluster
	}
	for _, s := range []struct {
		service   service
		component string
	}{{kubeAPIServer, "kubernetes-apiserver"}, {openshiftAPI, "openshift-apiserver"}} {
		if err := c.services(ctx, seen, s.service, s.component+"-service-cluster"); err != nil {
			return err
		}
	}
	if err := c.endpoints(ctx, kubernetes, func(e discoveryv1.Endpoint, endpoint string) {
		seen.add("kubernetes-apiserver-endpoint-"+seen.nameOf(e), endpoint)
	}); err != nil {
		return err
	}
	return c.endpoints(ctx, openshiftAPI, func(e discoveryv1.Endpoint, endpoint string) {
		seen.add("openshift-apiserver-endpoint-"+seen.nameOf(e), endpoint)
	})
}

// readLoadBalancers reads the external and internal host names of the API server.
func (c *Controller) readLoadBalancers(ctx context.Context, seen *observation) error {
	var infrastructure configv1.Infrastructure
	if found, err := c.optional(ctx, kindInfrastructure, &infrastructure); err != nil || !found {
		return err
	}
	for name, address := range map[string]string{
		"load-balancer-api-external": infrastructure.Status.APIServerURL, "load-balancer-api-internal": infrastructure.Status.APIServerInternalURL,
	} {
		if at, err := url.Parse(address); err == nil && at.Hostname() != "" {
			port := at.Port()
			if port == "" {
				port = "443"
			}
			seen.add(name, net.JoinHostPort(at.Hostname(), port))
		}
	}
	return nil
}

// add adds a target that is not a node.
func (seen *observation) add(name, endpoint string) {
	seen.topology.Targets = append(seen.topology.Targets, connectivity.Target{Name: name, Endpoint: endpoint})
}

// nameOf returns the short name of an endpoint's node, or the endpoint's address if the node is unknown.
func (seen *observation) nameOf(e discoveryv1.Endpoint) string {
	node := seen.nodeOf[e.Addresses[0]]
	if e.NodeName != nil {
		node = *e.NodeName
	}
	if _, known := seen.topology.Nodes[node]; !known {
		return connectivity.Dashes(e.Addresses[0])
	}
	return seen.names().Of(node)
}

// names returns the short names of all nodes.
func (seen *observation) names() connectivity.Names {
	if seen.short != nil {
		return seen.short
	}
	all := make([]string, 0, len(seen.topology.Nodes))
	for n := range seen.topology.Nodes {
		all = append(all, n)
	}
	seen.short = connectivity.NewNames(all)
	return seen.short
}

// services adds the first address and port of a Service as a target.
func (c *Controller) services(ctx context.Context, seen *observation, s service, target string) error {
	var svc corev1.Service
	found, err := c.service(ctx, s, &svc)
	if err != nil || !found {
		return err
	}
	if _, err := netip.ParseAddr(svc.Spec.ClusterIP); err == nil && len(svc.Spec.Ports) > 0 {
		seen.add(target, net.JoinHostPort(svc.Spec.ClusterIP, strconv.Itoa(int(svc.Spec.Ports[0].Port))))
	}
	return nil
}

func (c *Controller) service(ctx context.Context, s service, into *corev1.Service) (bool, error) {
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, into)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read service %s/%s: %w", s.namespace, s.name, err)
	}
	return err == nil, nil
}

// endpoints calls each with every endpoint of a Service and its host:port. For a dual-stack Service only IPv4 is used, so that each node is
// checked once.
func (c *Controller) endpoints(ctx context.Context, s service, each func(discoveryv1.Endpoint, string)) error {
	var found discoveryv1.EndpointSliceList
	err := c.Client.List(ctx, &found, client.InNamespace(s.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list endpoints of %s/%s: %w", s.namespace, s.name, err)
	}
	family := discoveryv1.AddressTypeIPv6
	if slices.ContainsFunc(found.Items, func(e discoveryv1.EndpointSlice) bool { return e.AddressType == discoveryv1.AddressTypeIPv4 }) {
		family = discoveryv1.AddressTypeIPv4
	}
	for _, slice := range found.Items {
		if slice.AddressType != family || len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
			continue
		}
		port := strconv.Itoa(int(*slice.Ports[0].Port))
		for _, e := range slice.Endpoints {
			if len(e.Addresses) > 0 {
				each(e, net.JoinHostPort(e.Addresses[0], port))
			}
		}
	}
	return nil
}

func isTrue(value *bool, otherwise bool) bool {
	if value == nil {
		return otherwise
	}
	return *value
}

// ready returns the pods of sources that are ready.
func (seen *observation) ready() map[string]bool {
	ready := map[string]bool{}
	for _, s := range seen.topology.Sources {
		ready[s.Pod] = s.Ready
	}
	return ready
}

// results returns the results of the planned checks. Results for another pod or endpoint are ignored.
func (seen *observation) results(plan []connectivity.Check) []connectivity.Result {
	results := make([]connectivity.Result, 0, len(plan))
	for _, p := range plan {
		r := connectivity.Result{Check: p}
		if live, exists := seen.checks[p.Name]; exists && live.Spec.SourcePod == p.SourcePod && live.Spec.TargetEndpoint == p.Target.Endpoint {
			r = connectivity.ResultOf(p, live)
		}
		results = append(results, r)
	}
	return results
}
