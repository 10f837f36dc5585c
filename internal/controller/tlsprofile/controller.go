// Package tlsprofile restarts the operator when the TLS profile of an OpenShift cluster changes.
//
// Input: spec.tlsSecurityProfile and spec.tlsAdherence of APIServer/cluster. Output: a graceful end of the operator when the settings
// differ from those at its start; the next process renders operands and serves metrics with the new settings. A finding reports an unusable
// profile.
//
// The controller writes nothing, and never ends the operator because of an unreadable profile.
package tlsprofile

import (
	"context"
	"fmt"
	"log/slog"

	configv1 "github.com/openshift/api/config/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

const (
	// Name is the name of the controller in logs and on the board.
	Name = "tlsprofile"
	// object is the name of the APIServer.
	object = "cluster"
)

// Kind is required by the controller.
var Kind = schema.GroupKind{Group: configv1.GroupName, Kind: "APIServer"}

// cacheOptions selects the APIServer. It is unstructured, because the vendored types lack spec.tlsAdherence.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{apiServer(): {Field: fields.OneTermEqualSelector("metadata.name", object)}}
}

// Controller watches the TLS profile. All fields must be set.
type Controller struct {
	// Client reads the APIServer from the controller's cache.
	Client client.Reader
	// Started are the settings at the start of the operator.
	Started tlsprofile.Settings
	// Restart ends the operator gracefully. It may be called more than once.
	Restart func()
	Board   *report.Board
	Log     *slog.Logger
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{Kind}, Owns: cacheOptions(), Setup: c.setup}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	once := loop.Once()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{}, loop.On(mgr, apiServer(), once))
}

// Reconcile ends the operator if the settings have changed.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	settings, err := Read(ctx, c.Client)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.Board.Report(Name, findings(settings)...)
	if !settings.Equal(c.Started) {
		c.Log.Info("the TLS profile of the cluster has changed; restarting the operator", "before", c.Started.MinVersion, "now", settings.MinVersion)
		c.Restart()
	}
	return reconcile.Result{}, nil
}

// Read returns the settings of the cluster. If the object or its kind does not exist, they are zero, and programs use their defaults.
func Read(ctx context.Context, r client.Reader) (tlsprofile.Settings, error) {
	u := apiServer()
	err := r.Get(ctx, client.ObjectKey{Name: object}, u)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return tlsprofile.Settings{}, nil
	}
	if err != nil {
		return tlsprofile.Settings{}, fmt.Errorf("read APIServer %s: %w", object, err)
	}
	var read struct {
		Spec struct {
			TLSSecurityProfile *configv1.TLSSecurityProfile `json:"tlsSecurityProfile"`
			TLSAdherence       string                       `json:"tlsAdherence"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &read); err != nil {
		return tlsprofile.Settings{}, fmt.Errorf("read APIServer %s: %w", object, err)
	}
	return tlsprofile.Resolve(read.Spec.TLSSecurityProfile, read.Spec.TLSAdherence), nil
}

func apiServer() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configv1.GroupVersion.WithKind(Kind.Kind))
	return u
}
