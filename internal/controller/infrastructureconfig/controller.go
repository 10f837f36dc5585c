// Package infrastructureconfig keeps what Infrastructure/cluster says of virtual addresses and machine networks in one
// piece, on platforms whose machines are one's own.
//
// Input: Infrastructure/cluster. Output: its specification, where that is empty; its status, which follows the
// specification; events on it; findings of component InfrastructureConfig.
//
// It must never let a first virtual address or the first machine network change, nor write a specification that says
// something already.
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

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Name is the name of the loop in logs and on the board.
const Name = "infrastructureconfig"

// infrastructureName is the name of the one Infrastructure of a cluster.
const infrastructureName = "cluster"

// fieldManager owns what this loop writes.
const fieldManager = client.FieldOwner("cluster-network-operator/infrastructureconfig")

// component is the part of the cluster that the findings are about.
const component = "InfrastructureConfig"

// Reasons of findings and events.
const (
	reasonSync   = "SyncInfrastructureSpecAndStatus"
	reasonSpec   = "UpdateInfrastructureSpecOrStatus"
	reasonStatus = "UpdateInfrastructureStatus"
)

// longestNote is how long the API server lets the text of an event be.
const longestNote = 1024

// Controller is the loop. All fields up to Log must be set.
type Controller struct {
	// Client reads from the manager's cache, and writes.
	Client client.Client
	Board  *report.Board
	Events events.EventRecorder
	Log    *slog.Logger

	// told is what users know of already.
	told string
}

// needs are the kinds that the API server must serve.
func needs() []schema.GroupKind {
	return []schema.GroupKind{{Group: configv1.GroupName, Kind: "Infrastructure"}}
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: needs(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{}, loop.On(mgr, &configv1.Infrastructure{}, once))
}

// Reconcile brings specification and status in line.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var infra configv1.Infrastructure
	if err := c.Client.Get(ctx, client.ObjectKey{Name: infrastructureName}, &infra); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, fmt.Errorf("read infrastructure: %w", err)
		}
		c.told = ""
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	r := synchronize(&infra)
	if len(r.differing) > 0 {
		c.Log.Warn("fields of the status differed from the lists that replace them", "fields", r.differing)
	}
	if reason, err := c.write(ctx, &infra, r.infra); err != nil {
		if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			c.Board.Report(Name, degraded(reason, fmt.Sprintf("Error while updating infrastructures.config.openshift.io/cluster: %v", err)))
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	c.tell(&infra, r.errs)
	return reconcile.Result{}, nil
}

// write writes what differs: first the specification, then the status. It returns the reason that stands for the error.
func (c *Controller) write(ctx context.Context, before, after *configv1.Infrastructure) (string, error) {
	if !equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(specOf(after)), fieldManager, client.ForceOwnership); err != nil {
			return reasonSpec, fmt.Errorf("apply specification: %w", err)
		}
		c.Log.Info("the specification of the infrastructure is filled from its status")
	}
	if !equality.Semantic.DeepEqual(before.Status, after.Status) {
		if err := c.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(statusOf(after)), fieldManager, client.ForceOwnership); err != nil {
			return reasonStatus, fmt.Errorf("apply status: %w", err)
		}
		c.Log.Info("the status of the infrastructure follows its specification")
	}
	return "", nil
}

// tell reports what is wrong with the specification, and makes an event of it when it is new.
func (c *Controller) tell(infra *configv1.Infrastructure, errs field.ErrorList) {
	if len(errs) == 0 {
		c.told = ""
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
	if message != c.told {
		note := message
		if len(note) > longestNote {
			note = strings.ToValidUTF8(note[:longestNote-3], "") + "..."
		}
		c.Log.Warn("the infrastructure is not followed", "message", message)
		c.Events.Eventf(infra, nil, corev1.EventTypeWarning, reasonSync, "Reconcile", "%s", note)
	}
	c.told = message
}

func degraded(reason, message string) status.Finding {
	// What someone has written does not become right by waiting.
	return status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Immediate: reason == reasonSync}
}
