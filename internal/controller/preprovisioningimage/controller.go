// Package preprovisioningimage provides the boot images that metal3 requests with PreprovisioningImages.
//
// Input: PreprovisioningImages of the configured namespaces, and their Secrets. Output: images of the image server, the status of
// PreprovisioningImages, and events about them.
//
// Every replica serves all images; only the one with the lease writes. The controller never writes a status that another manager has
// written, reads only Secrets that a PreprovisioningImage names, and isolates invalid objects from others.
package preprovisioningimage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/dayone/imageserver"
	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
	"github.com/cluster-network-operator/cno/internal/objectevents"
)

const (
	// Name is the name of the controller in logs, and that of its lease.
	Name = "host-image-server"
	// Manager is the field manager of the status.
	Manager = "host-image-server"
	// reasonOtherManager is the reason of the event on an image whose status another manager writes.
	reasonOtherManager = "StatusOfOtherManager"
)

// Server serves images.
type Server interface {
	Offer(imageserver.Offer) (imageserver.Offered, error)
	Withdraw(namespace, name string)
	KernelURL() string
}

// Settings are the settings of an administrator.
type Settings struct {
	// Namespaces are the namespaces whose PreprovisioningImages are provided.
	Namespaces []string
	// Offering describes the base images of the server.
	Offering preprovisioning.Offering
	// KernelParams are added to the kernel command line for an initramfs.
	KernelParams string
	// Interval is how often Secrets are read.
	Interval time.Duration
}

// loop is the controller until its first error.
type loop struct {
	Settings
	server Server
	// api reads images from a cache, and writes their status; live reads from the API server.
	api    client.Client
	live   client.Reader
	term   *term
	events interface {
		Report(agent.Topic, []objectevents.Problem)
	}
	metrics *metrics
	now     func() time.Time
	log     *slog.Logger
}

// reconcile handles one image, or all for a request without a name.
func (l *loop) reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	if r.Name == "" {
		return reconcile.Result{}, l.reconcileAll(ctx)
	}
	requeueAfter, err := l.reconcileOne(ctx, r.NamespacedName)
	if apierrors.IsConflict(err) {
		// The cache is stale. The event of the change may have been handled already.
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{RequeueAfter: requeueAfter}, err
}

// reconcileAll handles every image, after this replica got the lease.
func (l *loop) reconcileAll(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(preprovisioning.Kind)
	if err := l.api.List(ctx, list); err != nil {
		return fmt.Errorf("list PreprovisioningImages: %w", err)
	}
	var errs []error
	for i := range list.Items {
		_, err := l.reconcileOne(ctx, client.ObjectKeyFromObject(&list.Items[i]))
		// An undecodable object must not prevent retries of the others.
		if err != nil && !errors.Is(err, reconcile.TerminalError(nil)) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// reconcileOne handles one image. It returns the time until the next reconcile; 0 means after a change.
func (l *loop) reconcileOne(ctx context.Context, key client.ObjectKey) (time.Duration, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(preprovisioning.Kind)
	if err := l.api.Get(ctx, key, object); err != nil {
		if apierrors.IsNotFound(err) {
			l.server.Withdraw(key.Namespace, key.Name)
			l.report(key, nil, "", nil)
			return 0, nil
		}
		return 0, fmt.Errorf("read PreprovisioningImage: %w", err)
	}
	image, err := preprovisioning.Decode(object)
	if err != nil {
		return 0, reconcile.TerminalError(err)
	}
	if left, problem := isForeign(image); left {
		l.server.Withdraw(key.Namespace, key.Name)
		l.report(key, object, stateForeign, problem)
		return 0, nil
	}
	outcome, err := l.outcome(ctx, image)
	if err != nil {
		return 0, err
	}
	l.report(key, object, stateOf(outcome), outcome.Failure)
	next := preprovisioning.Next(image, outcome, l.now())
	if !preprovisioning.Same(next, image.Status) {
		if err := l.write(ctx, object, next); err != nil {
			return 0, err
		}
	}
	return l.requeueAfter(image, next), nil
}

// isForeign reports whether another controller provides the image, and the problem to report, if any.
func isForeign(image *preprovisioning.Image) (bool, *preprovisioning.Failure) {
	if image.Assisted() {
		return true, nil
	}
	other := preprovisioning.Writer(image.ManagedFields, Manager)
	if other == "" {
		return false, nil
	}
	return true, &preprovisioning.Failure{Reason: reasonOtherManager, Message: fmt.Sprintf("The status has fields of manager %q, so host-image-server does not provide this image. "+
		"To let it do so, stop that controller for this namespace, and clear the status: "+
		"kubectl patch preprovisioningimage %s --namespace %s --subresource=status --type=merge --patch '{\"status\":null}'", other, image.Name, image.Namespace)}
}

// outcome builds the image. Errors are those of the API server or the image server.
func (l *loop) outcome(ctx context.Context, image *preprovisioning.Image) (preprovisioning.Outcome, error) {
	format, failure := preprovisioning.Choose(image.Spec, l.Offering)
	o := preprovisioning.Outcome{Format: format, Failure: failure}
	var document []byte
	if failure == nil {
		secret, err := l.secret(ctx, image, &o)
		if err != nil {
			return o, err
		}
		if secret != nil {
			document, o.Failure = preprovisioning.Document(secret)
		}
	}
	if o.Failure != nil {
		l.server.Withdraw(image.Namespace, image.Name)
		return o, nil
	}
	offered, err := l.server.Offer(imageserver.Offer{
		Namespace: image.Namespace, Name: image.Name, Document: document, File: image.Spec.NetworkDataName,
		Version: []string{string(image.UID), image.Spec.Architecture, o.NetworkData.Name, o.NetworkData.Version},
	})
	if err != nil {
		return o, fmt.Errorf("offer image: %w", err)
	}
	l.applyOffer(&o, offered)
	return o, nil
}

// applyOffer fills in the offer of the server.
func (l *loop) applyOffer(o *preprovisioning.Outcome, offered imageserver.Offered) {
	o.URL = offered.ISO
	if o.Format == preprovisioning.Initrd {
		o.URL, o.KernelURL, o.ExtraKernelParams = offered.Initramfs, l.server.KernelURL(), l.KernelParams
	}
	if o.URL == "" {
		*o = preprovisioning.Outcome{Format: o.Format, NetworkData: o.NetworkData, Failure: &preprovisioning.Failure{
			Reason: preprovisioning.ImageBuildInvalid, Message: fmt.Sprintf("no image in format %s: %v", o.Format, offered.Problems.Err()),
		}}
	}
}

// secret reads the Secret of an image, nil if there is none, and records its version or the problem.
func (l *loop) secret(ctx context.Context, image *preprovisioning.Image, o *preprovisioning.Outcome) (*corev1.Secret, error) {
	name := image.Spec.NetworkDataName
	if name == "" {
		return nil, nil
	}
	o.NetworkData.Name = name
	secret := &corev1.Secret{}
	err := l.live.Get(ctx, client.ObjectKey{Namespace: image.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		o.Failure = &preprovisioning.Failure{Reason: preprovisioning.MissingNetworkData, Message: fmt.Sprintf("Secret %s does not exist in namespace %s", name, image.Namespace)}
		return nil, nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		o.Failure = &preprovisioning.Failure{Reason: preprovisioning.ConfigurationError, Message: fmt.Sprintf("read Secret %s: %v", name, err)}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	o.NetworkData.Version = secret.ResourceVersion
	return secret, nil
}

// write writes a status if this replica has the lease. A newer status is not replaced.
func (l *loop) write(ctx context.Context, object *unstructured.Unstructured, status preprovisioning.Status) error {
	object = object.DeepCopy()
	if err := preprovisioning.Encode(status, object); err != nil {
		return err
	}
	err := l.term.during(ctx, func(ctx context.Context) error {
		return l.api.Status().Update(ctx, object, client.FieldOwner(Manager))
	})
	if err != nil && !apierrors.IsConflict(err) {
		err = fmt.Errorf("write status of PreprovisioningImage: %w", err)
	}
	return client.IgnoreNotFound(err)
}

// requeueAfter returns the time until the next reconcile without an event, since Secrets are not watched.
func (l *loop) requeueAfter(image *preprovisioning.Image, status preprovisioning.Status) time.Duration {
	if image.Spec.NetworkDataName == "" {
		return 0
	}
	if status.NetworkData.Version == "" && status.Format != "" {
		return preprovisioning.RetryAfter(status, l.now())
	}
	return l.Interval
}

// report counts an image, and records an event for a new problem.
func (l *loop) report(key client.ObjectKey, object *unstructured.Unstructured, state string, problem *preprovisioning.Failure) {
	l.metrics.set(key, state)
	if !l.term.isLeader() {
		return
	}
	var problems []objectevents.Problem
	if problem != nil {
		problems = []objectevents.Problem{{Object: object, Reason: problem.Reason, Message: problem.Message}}
	}
	l.events.Report(agent.Topic(key.String()), problems)
}
