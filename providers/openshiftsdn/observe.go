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

// observed is what rendering needs to know of the cluster.
type observed struct {
	// sets are the DaemonSets, in the order of an upgrade.
	sets []operandorder.Set
	// openShift is true on OpenShift.
	openShift bool
	// nodes and subnets are those of the cluster if the pools may be exhausted.
	nodes   []*corev1.Node
	subnets []*sdnv1.HostSubnet
	// told is what agents have of the MTU now; nil if there are none.
	told *mtumigration.State
}

// Observe reads how far the DaemonSets have been rolled out, and whether this is OpenShift.
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
	if err := o.readTold(ctx, r); err != nil {
		return nil, err
	}
	return o, o.readBlocks(ctx, r, spec)
}

// readTold reads what agents have of the MTU. The operator's caches do not have the ConfigMaps of this namespace.
func (o *observed) readTold(ctx context.Context, r client.Reader) error {
	var config corev1.ConfigMap
	err := provider.Direct(r).Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, &config)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", agentconfig.Namespace, agentconfig.ConfigMap, err)
	}
	// What cannot be read is about to be written again.
	if c, decodeErr := agentconfig.Decode([]byte(config.Data[agentconfig.FileName])); err == nil && decodeErr == nil {
		o.told = new(mtumigration.StateOf(c.MTU, c.Migration))
	}
	return nil
}

const (
	// hostsBeside is how many hosts that are no nodes may have blocks without being noticed: HostSubnets are read when the nodes and so many hosts could have
	// all blocks.
	hostsBeside = 100
	// blocksAgain is after how long it is looked again whether nodes wait for blocks.
	blocksAgain = time.Minute
	// mostWaiting is how many nodes the condition names.
	mostWaiting = 10
)

// readBlocks reads the nodes and HostSubnets if there are not many more blocks than nodes.
func (o *observed) readBlocks(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) error {
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	if blocks(spec) > len(nodes.Items)+hostsBeside {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(sdnv1.GroupVersion.WithKind("HostSubnetList"))
	err := r.List(ctx, list)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return nil // its CRD does not exist yet, or a user previews a change who may not read them
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

// blocks is how many blocks the pools of a specification have, at least.
func blocks(spec *operatorv1.NetworkSpec) int {
	n := 0
	for _, c := range spec.ClusterNetwork {
		if p, err := netip.ParsePrefix(c.CIDR); err == nil && int(c.HostPrefix) >= p.Bits() {
			n += 1 << min(int(c.HostPrefix)-p.Bits(), 24)
		}
	}
	return n
}

// exhausted returns the failure that nodes have no block, as all are in use. The controller reports the same on the nodes.
func (o observed) exhausted(c agentconfig.Config) []provider.Failure {
	var pools []nodeblocks.Pool
	for _, n := range c.ClusterNetworks {
		pools = append(pools, nodeblocks.Pool{Network: n.CIDR, Length: n.HostPrefix})
	}
	waiting := hostsubnet.New(hostsubnet.Cluster{Nodes: o.nodes, HostSubnets: o.subnets, Pools: pools, Services: []netip.Prefix{c.ServiceNetwork}}).Waiting
	if len(o.nodes) == 0 || len(waiting) == 0 {
		return nil
	}
	return []provider.Failure{{Reason: hostsubnet.ReasonExhausted, Message: "all blocks of the cluster network are in use; nodes without one, whose pods do not start: " + status.Names(waiting, mostWaiting)}}
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
