package openshiftsdn

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/internal/operandorder"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
)

// observed is the cluster state that Render depends on.
type observed struct {
	// sets are the DaemonSets in upgrade order.
	sets []operandorder.Set
	// openShift is true on OpenShift.
	openShift bool
	// nodes and subnets are set only if the pools may be exhausted.
	nodes   []*corev1.Node
	subnets []*sdnv1.HostSubnet
	// currentMTU is the MTU state of the agents' current configuration; nil if none exists.
	currentMTU *mtumigration.State
}

// Observe reads the rollout state of the DaemonSets, the current MTU and the use of blocks, and detects OpenShift.
func (OpenShiftSDN) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	if r == nil {
		return observed{}, nil
	}
	sets, err := operandorder.Read(ctx, r, agentconfig.Namespace, agentconfig.Switch, agentconfig.Node, agentconfig.Controller)
	if err != nil {
		return nil, err
	}
	o := observed{sets: sets}
	if o.openShift, err = isOpenShift(ctx, r); err != nil {
		return nil, err
	}
	if err := o.readMTU(ctx, r); err != nil {
		return nil, err
	}
	return o, o.readBlocks(ctx, r, spec)
}

// readMTU reads the MTU from the agents' current configuration. The operator's caches exclude the ConfigMaps of this namespace.
func (o *observed) readMTU(ctx context.Context, r client.Reader) error {
	var config corev1.ConfigMap
	err := provider.Direct(r).Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, &config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", agentconfig.Namespace, agentconfig.ConfigMap, err)
	}
	// A ConfigMap that cannot be decoded is ignored: Render replaces it.
	if c, decodeErr := agentconfig.Decode([]byte(config.Data[agentconfig.FileName])); err == nil && decodeErr == nil {
		o.currentMTU = new(mtumigration.StateOf(c.MTU, c.Migration))
	}
	return nil
}

const (
	// maxExternalHosts is the assumed maximum number of hosts outside the cluster that have blocks. HostSubnets are read only if the nodes and that many hosts
	// could use all blocks.
	maxExternalHosts = 100
	// blocksInterval is how often the operator checks again while nodes wait for blocks.
	blocksInterval = time.Minute
	// maxWaiting is the maximum number of nodes named in the condition.
	maxWaiting = 10
)

// readBlocks reads the nodes and HostSubnets if the pools may be exhausted.
func (o *observed) readBlocks(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) error {
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	if blocks(spec) > len(nodes.Items)+maxExternalHosts {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(sdnv1.GroupVersion.WithKind("HostSubnetList"))
	err := r.List(ctx, list)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return nil // the CRD does not exist yet, or the user who previews a change may not list HostSubnets
	}
	if err != nil {
		return fmt.Errorf("list HostSubnets: %w", err)
	}
	for i := range nodes.Items {
		o.nodes = append(o.nodes, &nodes.Items[i])
	}
	for _, item := range list.Items {
		s := &sdnv1.HostSubnet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, s); err != nil {
			return fmt.Errorf("read HostSubnet %s: %w", item.GetName(), err)
		}
		o.subnets = append(o.subnets, s)
	}
	return nil
}

// blocks returns a lower bound of the number of blocks in the pools.
func blocks(spec *operatorv1.NetworkSpec) int {
	n := 0
	for _, c := range spec.ClusterNetwork {
		if p, err := netip.ParsePrefix(c.CIDR); err == nil && int(c.HostPrefix) >= p.Bits() {
			n += 1 << min(int(c.HostPrefix)-p.Bits(), 24)
		}
	}
	return n
}

// exhausted returns a failure if nodes have no block because all are in use. The controller reports the same as events on the nodes.
func (o observed) exhausted(c agentconfig.Config) []provider.Failure {
	var pools []nodeblocks.Pool
	for _, n := range c.ClusterNetworks {
		pools = append(pools, nodeblocks.Pool{Network: n.CIDR, Length: n.HostPrefix})
	}
	waiting := hostsubnet.New(hostsubnet.Cluster{Nodes: o.nodes, HostSubnets: o.subnets, Pools: pools, Services: []netip.Prefix{c.ServiceNetwork}}).Waiting
	if len(o.nodes) == 0 || len(waiting) == 0 {
		return nil
	}
	return []provider.Failure{{Reason: hostsubnet.ReasonExhausted, Message: "all blocks of the cluster network are in use; nodes without one, whose pods do not start: " + status.Names(waiting, maxWaiting)}}
}

// isOpenShift reports whether the API of OpenShift's operators exists.
func isOpenShift(ctx context.Context, r client.Reader) (bool, error) {
	const name = "clusteroperators.config.openshift.io"
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.Get(ctx, client.ObjectKey{Name: name}, crd)
	switch {
	case err == nil:
		return true, nil
	// A user who previews a change may not be allowed to read CRDs.
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err):
		return false, nil
	}
	return false, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
}
