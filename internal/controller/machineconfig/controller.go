// Package machineconfig reports the progress of the operator's MachineConfigs.
//
// Input: the MachineConfigs with the operator's label, from any controller, and the machine config pools. Output: findings of the component
// MachineConfig, one per pool; and the ConfigMap machine-configs, which records the names, so that a deleted MachineConfig is reported
// until no pool uses it, even after a restart.
//
// The controller never writes a MachineConfig or a pool. Pools without MachineConfigs of the operator are ignored.
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

// Name is the name of the controller in logs and on the board.
const Name = "machineconfig"

// requiredKinds are the kinds that the API server must serve.
func requiredKinds() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: machineconfigv1.GroupName, Kind: "MachineConfig"},
		{Group: machineconfigv1.GroupName, Kind: "MachineConfigPool"},
	}
}

// cacheOptions returns the kinds that the controller reads from a cache of its own: metadata of the operator's MachineConfigs, which may
// have a megabyte each, and the relevant part of pools.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		machineConfig(): {Label: managedSelector()},
		&machineconfigv1.MachineConfigPool{}: {Transform: func(o any) (any, error) {
			if pool, ok := o.(*machineconfigv1.MachineConfigPool); ok {
				trim(pool)
			}
			return o, nil
		}},
	}
}

// Controller reports MachineConfigs. All fields must be set.
type Controller struct {
	// Client reads MachineConfigs and pools from the controller's cache, ConfigMaps from the shared one, and writes.
	Client client.Client
	// Namespace is the operator's namespace.
	Namespace string
	Board     *report.Board
	Log       *slog.Logger
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: requiredKinds(), Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, machineConfig(), once),
		loop.On(mgr, &machineconfigv1.MachineConfigPool{}, once),
	)
}

// Reconcile reports all pools. New names are recorded first.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	input, err := c.observe(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := decide(input)
	if err := c.writeRecord(ctx, input.Recorded, decision.Record); err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, findings(decision)...)
	return reconcile.Result{}, nil
}

// machineConfig returns the metadata object for a MachineConfig.
func machineConfig() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(machineconfigv1.GroupVersion.WithKind("MachineConfig"))
	return m
}

// trim keeps the configurations and conditions of a pool.
func trim(pool *machineconfigv1.MachineConfigPool) {
	pool.ManagedFields, pool.Annotations, pool.Labels = nil, nil, nil
	pool.Spec.PinnedImageSets, pool.Spec.NodeSelector = nil, nil
	pool.Status.CertExpirys, pool.Status.PoolSynchronizersStatus = nil, nil
}

// managed is the label of the operator's objects.
var managed = map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}
