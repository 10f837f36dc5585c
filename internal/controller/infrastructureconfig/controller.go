// Package infrastructureconfig synchronizes the virtual addresses and machine networks in spec and status of Infrastructure/cluster, on
// platforms with user-provided machines.
//
// Input: Infrastructure/cluster. Output: its specification, where that is empty; its status, which follows the specification; events on it;
// findings of component InfrastructureConfig.
//
// The controller never accepts a change of a first virtual address or of the first machine network, and never overwrites a specification.
package infrastructureconfig

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Name is the name of the controller in logs and on the board.
const Name = "infrastructureconfig"

// infrastructureName is the name of the Infrastructure of a cluster.
const infrastructureName = "cluster"

// fieldManager owns the fields that the controller writes.
const fieldManager = client.FieldOwner("cluster-network-operator/infrastructureconfig")

// component is the component of the controller's findings.
const component = "InfrastructureConfig"

// Reasons of findings and events.
const (
	reasonSync   = "SyncInfrastructureSpecAndStatus"
	reasonSpec   = "UpdateInfrastructureSpecOrStatus"
	reasonStatus = "UpdateInfrastructureStatus"
)

// Controller synchronizes Infrastructure/cluster. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache, and writes.
	Client client.Client
	Board  *report.Board
	Events events.EventRecorder
	Log    *slog.Logger

	// lastMessage is the message of the last event.
	lastMessage string
}

// requiredKinds are the kinds that the API server must serve.
func requiredKinds() []schema.GroupKind {
	return []schema.GroupKind{{Group: configv1.GroupName, Kind: "Infrastructure"}}
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: requiredKinds(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{}, loop.On(mgr, &configv1.Infrastructure{}, once))
}

// Reconcile synchronizes specification and status.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var infra configv1.Infrastructure
	if err := c.Client.Get(ctx, client.ObjectKey{Name: infrastructureName}, &infra); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("read infrastructure: %w", err)
		}
		c.lastMessage = ""
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	r := synchronize(&infra)
	if len(r.conflicting) > 0 {
		c.Log.Warn("fields of the status differ from the lists that replace them", "fields", r.conflicting)
	}
	if reason, err := c.write(ctx, &infra, r.infra); err != nil {
		if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			c.Board.Report(Name, degraded(reason, fmt.Sprintf("Error while updating infrastructures.config.openshift.io/cluster: %v", err)))
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	c.report(&infra, r.errs)
	return reconcile.Result{}, nil
}

// write writes the specification and then the status, if they differ. It returns the reason for an error.
func (c *Controller) write(ctx context.Context, before, after *configv1.Infrastructure) (string, error) {
	if !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(specOf(after)), fieldManager, client.ForceOwnership); err != nil {
			return reasonSpec, fmt.Errorf("apply specification: %w", err)
		}
		c.Log.Info("filled the specification of the infrastructure from its status")
	}
	if !equality.Semantic.DeepEqual(before.Status, after.Status) {
		if err := c.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(statusOf(after)), fieldManager, client.ForceOwnership); err != nil {
			return reasonStatus, fmt.Errorf("apply status: %w", err)
		}
		c.Log.Info("updated the status of the infrastructure from its specification")
	}
	return "", nil
}

// report reports the errors of the specification, and records an event for new ones.
func (c *Controller) report(infra *configv1.Infrastructure, errs field.ErrorList) {
	if len(errs) == 0 {
		c.lastMessage = ""
		c.Board.Report(Name)
		return
	}
	lines := make([]string, len(errs))
	for i, e := range errs {
		lines[i] = e.Field + ": " + e.Detail
	}
	message := fmt.Sprintf("Error while synchronizing spec and status of infrastructures.config.openshift.io/cluster: %s. Use 'kubectl edit infrastructures.config.openshift.io cluster' to fix; the status stays as it is.",
		strings.Join(lines, "; "))
	c.Board.Report(Name, degraded(reasonSync, message))
	if message != c.lastMessage {
		c.Log.Warn("the specification of the infrastructure is not applied", "message", message)
		c.Events.Eventf(infra, nil, corev1.EventTypeWarning, reasonSync, eventaction.Of("Reconcile", message), "%s", phrase.Note(message))
	}
	c.lastMessage = message
}

func degraded(reason, message string) status.Finding {
	// An invalid specification does not become valid without a change.
	return status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Immediate: reason == reasonSync}
}
