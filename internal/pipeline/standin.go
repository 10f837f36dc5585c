package pipeline

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// thirdParty is the provider of a network that a third party installs. It restricts nothing and renders nothing.
type thirdParty struct{ name operatorv1.NetworkType }

func (t thirdParty) Traits() provider.Traits {
	return provider.Traits{Type: t.name, DualStack: true, IPv6: true, GrowPools: true, ConvertDualStack: true, ServiceCIDRs: true, MTUMigration: true}
}

func (thirdParty) Validate(*operatorv1.NetworkSpec) field.ErrorList { return nil }

func (thirdParty) Default(spec, _ *operatorv1.NetworkSpec, _ facts.Cluster) *operatorv1.NetworkSpec {
	return spec.DeepCopy()
}

func (thirdParty) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }

func (thirdParty) Fields() []provider.Field { return nil }

func (thirdParty) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	return nil, errNothingToRender
}

// errNothingToRender is never returned: Bootstrap calls neither kind of stand-in.
var errNothingToRender = errors.New("this network has nothing to render")

// NotBuilt returns a provider for a known type that cannot be installed yet, so that it is not treated as that of a
// third party. Validate refuses it with the rule not-built.
func NotBuilt(t operatorv1.NetworkType) provider.Provider { return notBuilt{thirdParty{t}} }

// notBuilt is the provider of a known network that cannot be installed yet.
type notBuilt struct{ thirdParty }

func (n notBuilt) Traits() provider.Traits {
	t := n.thirdParty.Traits()
	t.GrowPools = false // only the administrator of a third-party network knows whether its pools can grow
	t.NotBuilt = fmt.Sprintf("network type %s is not implemented yet", n.name)
	return t
}
