package network

import (
	"cmp"
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/loop"
)

// PlatformName is the name of the controller that watches the platform, in logs.
const PlatformName = Name + "/platform"

// infrastructureName is the name of the one Infrastructure of a cluster.
const infrastructureName = "cluster"

// kindInfrastructure is the kind of the object with the platform of a cluster.
func kindInfrastructure() schema.GroupKind {
	return schema.GroupKind{Group: configv1.GroupName, Kind: "Infrastructure"}
}

// platform returns the platform of the cluster: that of the Infrastructure where there is one, and else what is known
// since the start.
func (c *Controller) platform(ctx context.Context) (string, error) {
	if !c.Operands.Serves(kindInfrastructure()) {
		return c.Facts.Platform, nil
	}
	var infra configv1.Infrastructure
	if err := c.Client.Get(ctx, client.ObjectKey{Name: infrastructureName}, &infra); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read infrastructure: %w", err)
	}
	return cmp.Or(facts.Platform(&infra), c.Facts.Platform), nil
}

func (c *Controller) setupPlatform(mgr manager.Manager) error {
	return loop.Forward(mgr, PlatformName, []func(){c.Changed.Fire, c.OnPlatform}, loop.On(mgr, &configv1.Infrastructure{}, loop.Once(), platformChanged()))
}

func platformChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*configv1.Infrastructure)
		after, also := e.ObjectNew.(*configv1.Infrastructure)
		return !ok || !also || facts.Platform(before) != facts.Platform(after) || before.Generation != after.Generation
	}}
}
