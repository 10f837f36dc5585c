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

// component is the value of the label that names the part of the network.
const component = "PKI"

// What OpenShift's operator writes on such objects, and programs of OpenShift read.
const (
	annotationNotBefore = "auth.openshift.io/certificate-not-before"
	annotationNotAfter  = "auth.openshift.io/certificate-not-after"
	labelKind           = "auth.openshift.io/managed-certificate-type"
)

// objects are those of one OperatorPKI, as they are in the cluster, or empty where they are not.
type objects struct {
	authority, certificate corev1.Secret
	bundle                 corev1.ConfigMap
}

func (o *objects) state() state {
	return state{authority: o.authority.Data, certificate: o.certificate.Data, bundle: []byte(o.bundle.Data[bundleKey])}
}

// takenError says that an object is a third party's.
type takenError struct{ what string }

func (e *takenError) Error() string {
	return e.what + " was not created by the operator and is not changed; delete it, or rename the OperatorPKI"
}

func isTaken(err error) bool {
	_, taken := errors.AsType[*takenError](err)
	return taken
}

// bring reads what there is, decides, and writes what is to change. The plan is nil if nothing could be decided.
func (c *Controller) bring(ctx context.Context, pki *networkv1.OperatorPKI) (*plan, error) {
	if err := c.ensureRights(ctx, pki); err != nil {
		return nil, err
	}
	found, err := c.read(ctx, pki)
	if err != nil {
		return nil, err
	}
	if found.certificate.UID == "" { // it is written last, so that this is done before all is there
		if err := c.share(ctx, pki); err != nil {
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
	authority := found.authority.DeepCopy()
	authority.Data = p.Authority
	if err := c.write(ctx, pki, &found.authority, authority, "signer", p.Signs); err != nil {
		return nil, err
	}
	c.tell(pki, p.Happened...)
	certificate := found.certificate.DeepCopy()
	certificate.Data = p.Certificate
	if err := c.write(ctx, pki, &found.certificate, certificate, "target", p.Leaf); err != nil {
		return nil, err
	}
	c.tell(pki, p.Issued...)
	return p, nil
}

// read gets the objects of an OperatorPKI.
func (c *Controller) read(ctx context.Context, pki *networkv1.OperatorPKI) (*objects, error) {
	o := &objects{}
	for _, row := range []struct {
		name string
		into client.Object
	}{{pki.Name + "-ca", &o.bundle}, {pki.Name + "-ca", &o.authority}, {pki.Name + "-cert", &o.certificate}} {
		row.into.SetNamespace(pki.Namespace)
		row.into.SetName(row.name)
		err := c.Live.Get(ctx, client.ObjectKeyFromObject(row.into), row.into)
		_, secret := row.into.(*corev1.Secret)
		switch {
		case apierrors.IsNotFound(err):
		case secret && apierrors.IsForbidden(err):
			c.rights.set(pki.Namespace, false) // someone has taken it away
			return nil, errRightsComing
		case err != nil:
			return nil, fmt.Errorf("read %s %s: %w", kindOf(row.into), row.name, err)
		case !mayTake(row.into, pki):
			return nil, &takenError{kindOf(row.into) + " " + row.name}
		}
	}
	return o, nil
}

// mayTake reports whether an object was made for an OperatorPKI: for this one, for one of its name that has gone, or by
// OpenShift's operator.
func mayTake(o client.Object, pki *networkv1.OperatorPKI) bool {
	if owner := metav1.GetControllerOf(o); owner != nil {
		return owner.Kind == "OperatorPKI" && owner.Name == pki.Name
	}
	_, openshift := o.GetLabels()[labelKind]
	_, dated := o.GetAnnotations()[annotationNotAfter]
	return openshift || dated || o.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
}

// write creates or updates an object unless it is already what it should be. One that someone has changed since it was read is
// a conflict, and decided upon again.
func (c *Controller) write(ctx context.Context, pki *networkv1.OperatorPKI, have, want client.Object, kind string, life *x509.Certificate) error {
	want.SetLabels(with(want.GetLabels(), map[string]string{
		manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component, labelKind: kind}))
	if life != nil {
		want.SetAnnotations(with(want.GetAnnotations(), map[string]string{
			annotationNotBefore: life.NotBefore.UTC().Format(time.RFC3339), annotationNotAfter: life.NotAfter.UTC().Format(time.RFC3339)}))
	}
	owner := ownerOf(pki)
	yes := true
	owner.Controller = &yes
	want.SetOwnerReferences([]metav1.OwnerReference{owner})
	var err error
	if have.GetUID() == "" {
		if secret, is := want.(*corev1.Secret); is {
			secret.Type = corev1.SecretTypeTLS
		}
		err = c.Client.Create(ctx, want, fieldManager)
	} else if !equality.Semantic.DeepEqual(have, want) {
		err = c.Client.Update(ctx, want, fieldManager)
	} else {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kindOf(want), want.GetName(), err)
	}
	c.Log.Info("wrote", "kind", kindOf(want), "namespace", want.GetNamespace(), "name", want.GetName())
	return nil
}

// ownerOf refers to an OperatorPKI. It does not block its deletion: on OpenShift that would take another right.
func ownerOf(pki *networkv1.OperatorPKI) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: networkv1.GroupVersion.String(), Kind: "OperatorPKI", Name: pki.Name, UID: pki.UID}
}

func kindOf(o client.Object) string {
	if _, is := o.(*corev1.Secret); is {
		return "Secret"
	}
	return "ConfigMap"
}

// with returns a map that also has some entries.
func with(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}
