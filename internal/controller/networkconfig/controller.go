// Package networkconfig applies NetworkConfig/default, the short form of the configuration, to Network/cluster, and mirrors the status
// back.
//
// Input: the two objects, and the ConfigMap applied-default, which exists while the short form is the source: its deletion forces a pending
// change, like that of applied-cluster. Output: the Network, by server-side apply; the status of the NetworkConfig; that ConfigMap.
//
// The controller does not force fields: those that another client has set take precedence, and a condition of the NetworkConfig reports the
// differences. It never deletes the Network.
package networkconfig

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
)

// Name is the name of the controller in logs.
const Name = "networkconfig"

// fieldManager owns the fields of the Network that the NetworkConfig sets.
const fieldManager = client.FieldOwner("cluster-network-operator/networkconfig")

// Controller applies NetworkConfig/default. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Namespace is the operator's namespace.
	Namespace string
	Now       func() time.Time
	Log       *slog.Logger

	// lastConflict are the generations of the two objects at the last conflict with another field manager. The apply is not repeated for
	// them.
	lastConflict generations
}

type generations struct{ config, network int64 }

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{operatorv1.GroupVersion.WithKind("Network").GroupKind(), networkoperatorv1.GroupVersion.WithKind("NetworkConfig").GroupKind()}, Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	once := loop.Once()
	records := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == c.Namespace && (o.GetName() == appliedDefault || o.GetName() == applied.ConfigMapName)
	})
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{},
		loop.On(mgr, &networkoperatorv1.NetworkConfig{}, once),
		loop.On(mgr, &operatorv1.Network{}, once),
		loop.On(mgr, &corev1.ConfigMap{}, once, records),
	)
}

// Reconcile applies the NetworkConfig and updates its status.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var config networkoperatorv1.NetworkConfig
	if err := c.Client.Get(ctx, client.ObjectKey{Name: networkoperatorv1.NetworkConfigName}, &config); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("read network config: %w", err)
		}
		return reconcile.Result{}, c.release(ctx)
	}
	network, err := c.network(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	wanted, errs := networkconfig.Convert(&config.Spec)
	var differences []string
	if len(errs) == 0 {
		if network, differences, err = c.syncNetwork(ctx, &config, wanted, network); err != nil {
			return reconcile.Result{}, err
		}
	}
	status := networkconfig.Status(&config, network, networkconfig.Synced(errs, network, differences), c.Now())
	if !equality.Semantic.DeepEqual(status, config.Status) {
		config.Status = status
		if err := c.Client.Status().Update(ctx, &config, fieldManager); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("write status of network config: %w", err)
		}
	}
	if len(errs) > 0 || len(differences) > 0 {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, c.ensureClaim(ctx)
}

// network reads Network/cluster; nil if it does not exist.
func (c *Controller) network(ctx context.Context) (*operatorv1.Network, error) {
	var network operatorv1.Network
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read network: %w", err)
	}
	if err != nil {
		return nil, nil
	}
	return &network, nil
}
