package toy

import (
	"embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
)

//go:embed assets
var assets embed.FS

// Render returns the objects of a defaulted specification.
func (o observed) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	image, err := f.Images.Get(Image, "the toy network's agents")
	if err != nil {
		return provider.Output{}, fmt.Errorf("render the toy network: %w", err)
	}
	nodes, without, err := o.nodes(spec, f)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render the toy network: %w", err)
	}
	data, err := files(nodes, spec.MultiNetworkEnabled())
	if err != nil {
		return provider.Output{}, fmt.Errorf("render the toy network: %w", err)
	}
	list := manifest.List{Assets: assets}
	manifest.AddAsset[corev1.Namespace](&list, "namespace", nil)
	manifest.AddAsset[corev1.ServiceAccount](&list, "serviceaccount", nil)
	list.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configMap}, Data: data})
	manifest.AddAsset(&list, "agent", func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.InitContainers[0].Image = image
		d.Spec.Template.Spec.Containers[0].Image = image
	})
	objects, err := list.Result()
	if err != nil {
		return provider.Output{}, fmt.Errorf("render the toy network: %w", err)
	}
	out := provider.Output{Objects: objects}
	if len(without) > 0 {
		out.Unavailable = fmt.Sprintf("spec.clusterNetwork has no block left for the nodes %s; remove nodes", strings.Join(without, ", "))
	}
	return out, nil
}

// nodes assigns a block to each node.
func (o observed) nodes(spec *operatorv1.NetworkSpec, f facts.Cluster) (table agentconfig.Nodes, without []string, err error) {
	var pools []nodeblocks.Pool
	for i, p := range spec.ClusterNetwork {
		network, err := netip.ParsePrefix(p.CIDR)
		if err != nil {
			return table, nil, fmt.Errorf("spec.clusterNetwork[%d].cidr: %w", i, err)
		}
		pools = append(pools, nodeblocks.Pool{Network: network, Length: int(p.HostPrefix)})
	}
	addresses := map[string]netip.Addr{}
	var names []string
	for name, all := range f.NodeAddresses {
		// A node without an IPv4 address has no route yet, but keeps its block.
		names = append(names, name)
		if i := slices.IndexFunc(all, netip.Addr.Is4); i >= 0 {
			addresses[name] = all[i]
		}
	}
	blocks, without := nodeblocks.Assign(pools, o.held, names)
	table.Nodes = map[string]agentconfig.Node{}
	for name, b := range blocks {
		table.Nodes[name] = agentconfig.Node{Address: addresses[name], Block: b[0]}
	}
	return table, without, nil
}

func files(nodes agentconfig.Nodes, multiNetwork bool) (map[string]string, error) {
	config := agentconfig.Default()
	config.ProcSys, config.MultiNetwork = "/host/proc/sys", multiNetwork
	settings, err := config.Encode()
	if err != nil {
		return nil, err
	}
	table, err := nodes.Encode()
	if err != nil {
		return nil, err
	}
	return map[string]string{agentconfig.FileName: string(settings), agentconfig.NodesFile: string(table)}, nil
}
