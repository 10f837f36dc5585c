// Package machineconfig says how far the operator's MachineConfigs have come.
//
// Input: the MachineConfigs that carry the operator's label, whichever loop made them, and the pools of machines.
// Output: findings of the component MachineConfig, one a pool, on the board; and the ConfigMap machine-configs, which
// remembers the names, so that one that is deleted is followed until no pool uses it any more, also by the next
// operator.
//
// It must never write a MachineConfig or a pool. A pool that has nothing of the operator's is none of its business,
// whatever state it is in.
package machineconfig

import (
	"context"
	"log/slog"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/report"
)

// Name is the name of the loop in logs and on the board.
const Name = "machineconfig"

// needs are the kinds without which the controller has nothing to do.
func needs() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: machineconfigv1.GroupName, Kind: "MachineConfig"},
		{Group: machineconfigv1.GroupName, Kind: "MachineConfigPool"},
	}
}

// owns are the kinds that the controller reads from a cache of its own: metadata of the operator's MachineConfigs, whose
// content may be a megabyte each, and what decides about pools.
func owns() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		machineConfig(): {Label: ours()},
		&machineconfigv1.MachineConfigPool{}: {Transform: func(o any) (any, error) {
			if pool, ok := o.(*machineconfigv1.MachineConfigPool); ok {
				trim(pool)
			}
			return o, nil
		}},
	}
}

// Controller is the loop. All fields must be set.
type Controller struct {
	// Client reads MachineConfigs and pools from the loop's cache, ConfigMaps from the shared one, and writes.
	Client client.Client
	// Namespace is the operator's own.
	Namespace string
	Board     *report.Board
	Log       *slog.Logger
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: needs(), Owns: owns(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, machineConfig(), once),
		loop.On(mgr, &machineconfigv1.MachineConfigPool{}, once),
	)
}

// Reconcile looks at all pools and reports. What is new is remembered before it is reported.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	world, err := c.gather(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := decide(world)
	if err := c.remember(ctx, world.Remembered, decision.Remember); err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, findings(decision)...)
	return reconcile.Result{}, nil
}

// machineConfig is the metadata of a MachineConfig.
func machineConfig() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(machineconfigv1.GroupVersion.WithKind("MachineConfig"))
	return m
}

// trim keeps of a pool what decides: which configurations it selects, has and is to have, and how it is.
func trim(pool *machineconfigv1.MachineConfigPool) {
	pool.ManagedFields, pool.Annotations, pool.Labels = nil, nil, nil
	pool.Spec.PinnedImageSets, pool.Spec.NodeSelector = nil, nil
	pool.Status.CertExpirys, pool.Status.PoolSynchronizersStatus = nil, nil
}

// managed is the label that says that an object is the operator's.
var managed = map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}
