// Package toy is the network of docs/adding-a-network.md: a block of the pools for each node, and plain routes between nodes. Tests use it; no release
// installs it. It shows the minimum of a network: this package is the operator's provider, package node the agent, and package agentconfig their shared
// configuration.
package toy

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
)

const (
	// Type is the name in spec.defaultNetwork.type.
	Type operatorv1.NetworkType = "Toy"
	// Image is the operator's environment variable with the agents' image.
	Image = "TOY_IMAGE"

	namespace = "openshift-toy"
	app       = "toy-agent"
	configMap = "toy"
)

// Toy is the provider. The zero value is ready for use.
type Toy struct{}

// New returns the provider.
func New() Toy { return Toy{} }

var _ provider.Provider = Toy{}

// Traits returns the capabilities of the network.
func (Toy) Traits() provider.Traits { return provider.Traits{Type: Type, HostPrefix: true} }

// Validate returns no errors: the network has no settings, and the pipeline validates the pools according to Traits.
func (Toy) Validate(*operatorv1.NetworkSpec) field.ErrorList { return nil }

// Default sets nothing.
func (Toy) Default(spec, _ *operatorv1.NetworkSpec, _ facts.Cluster) *operatorv1.NetworkSpec {
	return spec
}

// CheckChange returns nothing: the pipeline checks the pools and the type.
func (Toy) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }

// Fields returns none.
func (Toy) Fields() []provider.Field { return nil }

// Workloads returns the agents.
func (Toy) Workloads() []provider.Workload {
	return []provider.Workload{{Name: app, Placed: true, Rolling: true, Env: []string{"NODE_NAME"}}}
}

// Operands returns the namespace and the agents.
func (Toy) Operands() provider.Operands {
	return provider.Operands{
		Namespaces: []provider.OperandNamespace{{Name: namespace, Protected: true, Installed: true}},
		Agents:     []provider.Agent{{Namespace: namespace, Name: app, Files: []string{"/etc/cni/net.d/10-toy.conflist", "/var/lib/cno/toy"}}},
		Plugins:    []string{"toy"},
		ConfigMaps: []string{configMap},
		Images:     []provider.Image{{Variable: Image, Name: "toy"}},
	}
}

// observed has the current blocks of nodes.
type observed struct{ held map[string][]netip.Prefix }

// Observe reads the previously rendered table, so that nodes keep their blocks.
func (Toy) Observe(ctx context.Context, r client.Reader, _ *operatorv1.NetworkSpec) (provider.Renderer, error) {
	o := observed{held: map[string][]netip.Prefix{}}
	if r == nil {
		return o, nil
	}
	var cm corev1.ConfigMap
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: configMap}, &cm); apierrors.IsNotFound(err) {
		return o, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the blocks of nodes: %w", err)
	}
	table, err := agentconfig.DecodeNodes([]byte(cm.Data[agentconfig.NodesFile]))
	if err != nil {
		return nil, fmt.Errorf("read the blocks of nodes: %w", err)
	}
	for name, n := range table.Nodes {
		o.held[name] = []netip.Prefix{n.Block}
	}
	return o, nil
}
