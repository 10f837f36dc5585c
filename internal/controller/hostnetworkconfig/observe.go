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

// input is the input of a decision.
type input struct {
	// Configs are sorted by age, the oldest first, and then by name.
	Configs []networkv1.HostNetworkConfig
	Nodes   []node
	// Reports are the reports of nodes by the node's name.
	Reports map[string]nodereport.Report
	// MachineConfigs and BareMetalHosts are true if these kinds are available.
	MachineConfigs, BareMetalHosts bool
	// Machines maps the names of BareMetalHosts to the names of their Secrets. It is nil if they are not needed.
	Machines map[string]string
	// PullSecret is the name of the sync agents' image pull secret; empty for none.
	PullSecret string
	// Requests are the existing requests to nodes, by role.
	Requests map[string]nodereport.Requests
	// Programs are the MachineConfigs with host-network, by role.
	Programs map[string]program
	// Live are the objects of the controller.
	Live map[objectKey]*metav1.PartialObjectMetadata
}

// node is the relevant part of a Node.
type node struct {
	Name   string
	Labels map[string]string
	// Ready is true if the condition Ready is True and the node is not being deleted.
	Ready bool
}

// host returns the host name of the node.
func (n node) host() string {
	if name := n.Labels[corev1.LabelHostname]; name != "" {
		return name
	}
	return n.Name
}

// machineKind returns the kind BareMetalHost.
func machineKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}
}

// observe reads the input of a decision.
func (c *Controller) observe(ctx context.Context) (input, error) {
	w := input{Reports: map[string]nodereport.Report{}}
	for kind, served := range map[schema.GroupKind]*bool{
		{Group: mcfgv1.GroupName, Kind: "MachineConfig"}: &w.MachineConfigs,
		machineKind().GroupKind():                        &w.BareMetalHosts,
	} {
		var err error
		if *served, err = c.Serves(kind); err != nil {
			return w, fmt.Errorf("check whether %s is available: %w", kind, err)
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
	// Nodes and reports are not copied from the cache, since there may be thousands; they must not be modified.
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
	if w.Live, err = c.listOwned(ctx, w); err != nil {
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

// ready reports whether a node is ready and not being deleted.
func ready(n *corev1.Node) bool {
	return n.DeletionTimestamp == nil && status.NodeReady(n)
}

func (c *Controller) readReports(ctx context.Context, w *input) error {
	var reports corev1.ConfigMapList
	if err := c.Client.List(ctx, &reports, client.InNamespace(nodereport.Namespace), client.HasLabels{nodereport.Label}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list reports of nodes: %w", err)
	}
	for i := range reports.Items {
		report, err := nodereport.Decode(reports.Items[i].Name, reports.Items[i].Data)
		if err != nil {
			c.Log.Warn("the report of a node is unreadable", "error", err)
			continue
		}
		w.Reports[report.Node] = report
	}
	return nil
}

func (c *Controller) readMachines(ctx context.Context, w *input) error {
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

// byAge orders HostNetworkConfigs by age, and then by name. The oldest one wins a conflict.
func byAge(a, b networkv1.HostNetworkConfig) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
