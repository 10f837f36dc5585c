package pki

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// component is the value of manifest.LabelComponent.
const component = "PKI"

// Annotations and label of OpenShift's operator, which OpenShift's tools read.
const (
	annotationNotBefore = "auth.openshift.io/certificate-not-before"
	annotationNotAfter  = "auth.openshift.io/certificate-not-after"
	labelKind           = "auth.openshift.io/managed-certificate-type"
)

// objects are the objects of an OperatorPKI; empty if they do not exist.
type objects struct {
	ca, certificate corev1.Secret
	bundle          corev1.ConfigMap
}

func (o *objects) state() state {
	return state{ca: o.ca.Data, certificate: o.certificate.Data, bundle: []byte(o.bundle.Data[bundleKey])}
}

// nameTakenError reports that an object belongs to a third party.
type nameTakenError struct{ what string }

func (e *nameTakenError) Error() string {
	return e.what + " was not created by the operator and is not changed; delete it, or rename the OperatorPKI"
}

func isNameTaken(err error) bool {
	_, taken := errors.AsType[*nameTakenError](err)
	return taken
}

// sync reads the objects, decides, and writes the differences. The plan is nil if there is no decision.
func (c *Controller) sync(ctx context.Context, pki *networkv1.OperatorPKI) (*plan, error) {
	if err := c.ensurePermissions(ctx, pki); err != nil {
		return nil, err
	}
	found, err := c.read(ctx, pki)
	if err != nil {
		return nil, err
	}
	if found.certificate.UID == "" { // the Secret is written last, so that shareBinding runs before all objects exist
		if err := c.shareBinding(ctx, pki); err != nil {
			return nil, err
		}
	}
	p, err := decide(pki, found.state(), c.Now())
	if err != nil {
		return nil, err
	}
	bundle := found.bundle.DeepCopy()
	bundle.Data = with(bundle.Data, map[string]string{bundleKey: string(p.Bundle)})
	if err := c.write(ctx, pki, &found.bundle, bundle, "ca-bundle", nil); err != nil {
		return nil, err
	}
	ca := found.ca.DeepCopy()
	ca.Data = p.CA
	if err := c.write(ctx, pki, &found.ca, ca, "signer", p.Signer); err != nil {
		return nil, err
	}
	c.recordEvents(pki, p.Events...)
	certificate := found.certificate.DeepCopy()
	certificate.Data = p.Certificate
	if err := c.write(ctx, pki, &found.certificate, certificate, "target", p.Leaf); err != nil {
		return nil, err
	}
	c.recordEvents(pki, p.IssueEvents...)
	return p, nil
}

// read reads the objects of an OperatorPKI.
func (c *Controller) read(ctx context.Context, pki *networkv1.OperatorPKI) (*objects, error) {
	o := &objects{}
	for _, row := range []struct {
		name string
		into client.Object
	}{{pki.Name + "-ca", &o.bundle}, {pki.Name + "-ca", &o.ca}, {pki.Name + "-cert", &o.certificate}} {
		row.into.SetNamespace(pki.Namespace)
		row.into.SetName(row.name)
		err := c.Live.Get(ctx, client.ObjectKeyFromObject(row.into), row.into)
		_, secret := row.into.(*corev1.Secret)
		switch {
		case apierrors.IsNotFound(err):
		case secret && apierrors.IsForbidden(err):
			c.permissions.set(pki.Namespace, false) // the permission was revoked
			return nil, errPermissionPending
		case err != nil:
			return nil, fmt.Errorf("read %s %s: %w", kindOf(row.into), row.name, err)
		case !mayAdopt(row.into, pki):
			return nil, &nameTakenError{kindOf(row.into) + " " + row.name}
		}
	}
	return o, nil
}

// mayAdopt reports whether an object was created for this OperatorPKI, for a deleted one of the same name, or by OpenShift's operator.
func mayAdopt(o client.Object, pki *networkv1.OperatorPKI) bool {
	if owner := metav1.GetControllerOf(o); owner != nil {
		return owner.Kind == "OperatorPKI" && owner.Name == pki.Name
	}
	_, openshift := o.GetLabels()[labelKind]
	_, dated := o.GetAnnotations()[annotationNotAfter]
	return openshift || dated || o.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
}

// write creates or updates an object if it differs. An object that another client has changed since it was read causes a conflict, and the
// decision is repeated.
func (c *Controller) write(ctx context.Context, pki *networkv1.OperatorPKI, existing, desired client.Object, kind string, life *x509.Certificate) error {
	desired.SetLabels(with(desired.GetLabels(), map[string]string{
		manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component, labelKind: kind}))
	if life != nil {
		desired.SetAnnotations(with(desired.GetAnnotations(), map[string]string{
			annotationNotBefore: life.NotBefore.UTC().Format(time.RFC3339), annotationNotAfter: life.NotAfter.UTC().Format(time.RFC3339)}))
	}
	owner := ownerOf(pki)
	yes := true
	owner.Controller = &yes
	desired.SetOwnerReferences([]metav1.OwnerReference{owner})
	var err error
	if existing.GetUID() == "" {
		if secret, ok := desired.(*corev1.Secret); ok {
			secret.Type = corev1.SecretTypeTLS
		}
		err = c.Client.Create(ctx, desired, fieldManager)
	} else if !equality.Semantic.DeepEqual(existing, desired) {
		err = c.Client.Update(ctx, desired, fieldManager)
	} else {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kindOf(desired), desired.GetName(), err)
	}
	c.Log.Info("wrote", "kind", kindOf(desired), "namespace", desired.GetNamespace(), "name", desired.GetName())
	return nil
}

// ownerOf returns the owner reference to an OperatorPKI. It does not block deletion, which on OpenShift would require another permission.
func ownerOf(pki *networkv1.OperatorPKI) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: networkv1.GroupVersion.String(), Kind: "OperatorPKI", Name: pki.Name, UID: pki.UID}
}

func kindOf(o client.Object) string {
	if _, ok := o.(*corev1.Secret); ok {
		return "Secret"
	}
	return "ConfigMap"
}

// with returns a copy of a map with additional entries.
func with(existing, more map[string]string) map[string]string {
	out := maps.Clone(existing)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}
