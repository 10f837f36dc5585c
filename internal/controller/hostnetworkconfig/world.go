package hostnetworkconfig

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/status"
)

// world is what decisions are made of.
type world struct {
	// Configs are sorted by age, the oldest first, and then by name.
	Configs []networkv1.HostNetworkConfig
	Nodes   []node
	// Reports are by the name of the node.
	Reports map[string]nodereport.Report
	// MachineConfigs and BareMetalHosts say whether these kinds are served.
	MachineConfigs, BareMetalHosts bool
	// Machines are the BareMetalHosts by name, with the Secret that each names. Nil if no one asks for them.
	Machines map[string]string
	// PullSecret is the name of the Secret with which couriers pull their image; empty is none.
	PullSecret string
	// Requests are the requests to nodes that are made, by role.
	Requests map[string]nodereport.Requests
	// Programs are the MachineConfigs with host-network, by role.
	Programs map[string]program
	// There is what the loop has made.
	There map[objectKey]*metav1.PartialObjectMetadata
}

// node is what counts of a Node.
type node struct {
	Name   string
	Labels map[string]string
	// Ready is the condition of that name.
	Ready bool
}

// host is the name that the node gives itself.
func (n node) host() string {
	if name := n.Labels[corev1.LabelHostname]; name != "" {
		return name
	}
	return n.Name
}

// machineKind is the kind of bare machines.
func machineKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}
}

// gather reads the world.
func (c *Controller) gather(ctx context.Context) (world, error) {
	w := world{Reports: map[string]nodereport.Report{}}
	for kind, served := range map[schema.GroupKind]*bool{
		{Group: mcfgv1.GroupName, Kind: "MachineConfig"}: &w.MachineConfigs,
		machineKind().GroupKind():                        &w.BareMetalHosts,
	} {
		var err error
		if *served, err = c.Serves(kind); err != nil {
			return w, fmt.Errorf("ask whether %s is served: %w", kind, err)
		}
	}
	if c.PullSecret != nil {
		var err error
		if w.PullSecret, err = c.PullSecret(ctx); err != nil {
			return w, err
		}
	}
	var configs networkv1.HostNetworkConfigList
	if err := c.Client.List(ctx, &configs); err != nil {
		return w, fmt.Errorf("list host network configs: %w", err)
	}
	w.Configs = configs.Items
	slices.SortFunc(w.Configs, byAge)
	// Nodes and reports are the cache's own, for there are thousands; nothing here writes to them.
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return w, fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		w.Nodes = append(w.Nodes, node{Name: nodes.Items[i].Name, Labels: nodes.Items[i].Labels, Ready: ready(&nodes.Items[i])})
	}
	slices.SortFunc(w.Nodes, func(a, b node) int { return strings.Compare(a.Name, b.Name) })
	if err := c.readReports(ctx, &w); err != nil {
		return w, err
	}
	var err error
	if w.There, err = c.look(ctx, w); err != nil {
		return w, err
	}
	if err := c.readRequests(ctx, &w); err != nil {
		return w, err
	}
	if err := c.readPrograms(ctx, &w); err != nil {
		return w, err
	}
	preBoot := slices.ContainsFunc(w.Configs, func(h networkv1.HostNetworkConfig) bool { return slices.Contains(h.Spec.Phases, networkv1.PreBoot) })
	if !w.BareMetalHosts || !preBoot {
		return w, nil
	}
	return w, c.readMachines(ctx, &w)
}

// ready reports whether a node is ready and not about to be deleted.
func ready(n *corev1.Node) bool {
	return n.DeletionTimestamp == nil && status.NodeReady(n)
}

func (c *Controller) readReports(ctx context.Context, w *world) error {
	var reports corev1.ConfigMapList
	if err := c.Client.List(ctx, &reports, client.InNamespace(nodereport.Namespace), client.HasLabels{nodereport.Label}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list reports of nodes: %w", err)
	}
	for i := range reports.Items {
		report, err := nodereport.Decode(reports.Items[i].Name, reports.Items[i].Data)
		if err != nil {
			c.Log.Warn("a report cannot be read", "error", err)
			continue
		}
		w.Reports[report.Node] = report
	}
	return nil
}

func (c *Controller) readMachines(ctx context.Context, w *world) error {
	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(machineKind())
	if err := c.Live.List(ctx, machines, client.InNamespace(metal.Namespace)); err != nil {
		return fmt.Errorf("list bare-metal hosts: %w", err)
	}
	w.Machines = map[string]string{}
	for i := range machines.Items {
		secret, _, _ := unstructured.NestedString(machines.Items[i].Object, "spec", "preprovisioningNetworkDataName")
		w.Machines[machines.Items[i].GetName()] = secret
	}
	return nil
}

// byAge orders HostNetworkConfigs, the oldest first: it keeps what a newer one claims too. Those of one second are in the order of their names.
func byAge(a, b networkv1.HostNetworkConfig) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
