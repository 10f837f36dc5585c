// Package tlsprofile keeps the programs of the network on the TLS profile of an OpenShift cluster.
//
// Input: spec.tlsSecurityProfile and spec.tlsAdherence of APIServer/cluster. Output: the end of the operator, in order, when
// what follows from them differs from what it was started with; the one that starts then renders operands and serves its
// own metrics with the new settings. A finding says when a profile cannot be followed.
//
// It must never write anything. It never ends an operator over a profile that it cannot read.
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
	// Name is the name of the loop in logs and on the board.
	Name = "tlsprofile"
	// object is the name of the APIServer that counts.
	object = "cluster"
)

// Kind is without which the controller has nothing to do.
var Kind = schema.GroupKind{Group: configv1.GroupName, Kind: "APIServer"}

// owns are the kinds that the controller reads from a cache of its own: the one APIServer. It is read without a type, since
// spec.tlsAdherence is younger than the types that this project is built with.
func owns() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{apiServer(): {Field: fields.OneTermEqualSelector("metadata.name", object)}}
}

// Controller is the loop. All fields must be set.
type Controller struct {
	// Client reads the APIServer from the loop's cache.
	Client client.Reader
	// Started are the settings that the operator was started with.
	Started tlsprofile.Settings
	// Restart ends the operator in order. It may be called more than once.
	Restart func()
	Board   *report.Board
	Log     *slog.Logger
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{Name: Name, Needs: []schema.GroupKind{Kind}, Owns: owns(), Setup: c.setup}}
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
		c.Log.Info("the TLS profile of the cluster has changed: the operator starts again", "before", c.Started.MinVersion, "now", settings.MinVersion)
		c.Restart()
	}
	return reconcile.Result{}, nil
}

// Read returns the settings of the cluster. Where there is no such object, or no such kind, programs keep their own defaults.
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
