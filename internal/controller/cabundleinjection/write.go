package cabundleinjection

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/cabundle"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// verify compares the certificates in a ConfigMap whose metadata claims the right ones; other clients can forge that with the same field
// manager. Versions that the controller has written or verified are not read.
func (c *Controller) verify(ctx context.Context, m *metav1.PartialObjectMetadata, b *bundle) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(m)
	read, requeueAfter := c.memory.check(key, m.UID, m.ResourceVersion, b.hash, c.Now())
	if !read {
		return reconcile.Result{RequeueAfter: requeueAfter}, nil
	}
	// With this resource version the API server answers from its watch cache, not from etcd.
	var cm corev1.ConfigMap
	err := c.Live.Get(ctx, key, &cm, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: m.ResourceVersion}})
	switch {
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("read ConfigMap: %w", err)
	case err != nil || cm.UID != m.UID:
		return reconcile.Result{}, nil // its deletion is an event
	case cm.Data[cabundle.Key] == b.text:
		c.memory.verified(key, m.UID, cm.ResourceVersion, b.hash, c.Now())
		return reconcile.Result{}, nil
	}
	return c.inject(ctx, m, b)
}

// inject writes the certificates to a ConfigMap, unless it is contested, refused or over the limit.
func (c *Controller) inject(ctx context.Context, m *metav1.PartialObjectMetadata, b *bundle) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(m)
	v := c.memory.decide(key, m.UID, m.ResourceVersion, b.hash, c.Now())
	if v.contested {
		c.recordEvent(m, reasonContested, fmt.Sprintf("%s keeps writing the key ca-bundle.crt, into which the label %s requests injection: stop that client, or remove the label",
			contender(m), InjectLabel))
	}
	if !v.write {
		return reconcile.Result{RequeueAfter: v.requeueAfter}, nil
	}
	within, err := c.limits.within(ctx, c.Client, m, c.Now())
	if err != nil {
		return reconcile.Result{}, err
	}
	if !within {
		return c.refuse(m, b, overLimit(m.Namespace)), nil
	}
	version, err := c.apply(ctx, m, b)
	if err == nil {
		c.Metrics.countWrite("injected")
		c.memory.written(key, m.UID, version, b.hash, c.Now())
		c.Log.Debug("injected trusted certificates", "namespace", m.Namespace, "configmap", m.Name)
		return reconcile.Result{}, nil
	}
	refused := refusalOf(err)
	switch {
	case refused == nil:
		c.Metrics.countWrite("failed")
		return reconcile.Result{}, fmt.Errorf("inject trusted certificates: %w", err)
	case refused.quiet:
		c.memory.forget(key)
		return reconcile.Result{}, nil
	}
	c.Metrics.countWrite("refused")
	return c.refuse(m, b, refused), nil
}

// refuse records that a ConfigMap gets no certificates, and records an event for a new reason.
func (c *Controller) refuse(m *metav1.PartialObjectMetadata, b *bundle, refused *refusal) reconcile.Result {
	if c.memory.refuse(client.ObjectKeyFromObject(m), m.UID, m.ResourceVersion, b.hash, refused.message, c.Now(), refused.requeueAfter) {
		c.recordEvent(m, refused.reason, refused.message)
		c.Log.Info("cannot inject trusted certificates", "namespace", m.Namespace, "configmap", m.Name, "reason", refused.reason)
	}
	return reconcile.Result{RequeueAfter: refused.requeueAfter}
}

// contender names the other client that writes the key.
func contender(m *metav1.PartialObjectMetadata) string {
	if name := m.Annotations[contenderAnnotation]; name != "" {
		return fmt.Sprintf("the field manager %q", name)
	}
	if m.Annotations[hashAnnotation] != "" {
		return fmt.Sprintf("another client with the operator's field manager %q", string(fieldManager))
	}
	return "another client"
}

// apply applies the certificates, or no data if b is nil, and returns the new resource version. It requests only the metadata in the
// response.
func (c *Controller) apply(ctx context.Context, m *metav1.PartialObjectMetadata, b *bundle) (version string, err error) {
	content, err := body(m, b)
	if err != nil {
		return "", err
	}
	patched := target(client.ObjectKeyFromObject(m))
	if err := c.Client.Patch(ctx, patched, client.RawPatch(types.ApplyPatchType, content), fieldManager, client.ForceOwnership, client.FieldValidation(metav1.FieldValidationIgnore)); err != nil {
		return "", err
	}
	return patched.ResourceVersion, nil
}

// release removes the injected data from a ConfigMap that no longer requests it.
func (c *Controller) release(ctx context.Context, key types.NamespacedName) error {
	c.memory.forget(key)
	m := target(key)
	if err := c.Live.Get(ctx, key, m); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("read ConfigMap: %w", err)
	}
	owned, _ := owners(m.ManagedFields)
	if m.Labels[InjectLabel] == "true" || !owned.any || m.DeletionTimestamp != nil {
		return nil
	}
	if _, err := c.apply(ctx, m, nil); err != nil {
		refused := refusalOf(err)
		if refused == nil {
			return fmt.Errorf("remove trusted certificates: %w", err)
		}
		if !refused.quiet {
			c.recordEvent(m, refused.reason, fmt.Sprintf("the trusted certificates stay in the ConfigMap, which no longer requests them: %v", err))
		}
		return nil
	}
	c.Metrics.countWrite("removed")
	c.Log.Info("removed trusted certificates", "namespace", m.Namespace, "configmap", m.Name)
	c.Events.Eventf(eventSubject(m), nil, corev1.EventTypeNormal, reasonRemoved, eventaction.Of("Inject", reasonRemoved), "the label %s was removed, and with it the trusted certificates", InjectLabel)
	return nil
}

// releaseOrphans releases ConfigMaps whose label was removed while the operator was not running.
func (c *Controller) releaseOrphans(ctx context.Context) error {
	mark, err := labels.NewRequirement(markLabel, selection.Equals, []string{marked})
	if err != nil {
		return err
	}
	notRequested, err := labels.NewRequirement(InjectLabel, selection.NotEquals, []string{"true"})
	if err != nil {
		return err
	}
	list := targets()
	if err := c.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*mark, *notRequested)}); err != nil {
		return fmt.Errorf("list ConfigMaps that no longer request certificates: %w", err)
	}
	for i := range list.Items {
		if err := c.release(ctx, client.ObjectKeyFromObject(&list.Items[i])); err != nil {
			return err
		}
	}
	return nil
}

// recordEvent records a warning about a ConfigMap.
func (c *Controller) recordEvent(m *metav1.PartialObjectMetadata, reason, message string) {
	c.Events.Eventf(eventSubject(m), nil, corev1.EventTypeWarning, reason, eventaction.Of("Inject", message), "%s", phrase.Note(message))
}

// eventSubject returns a reference to a ConfigMap.
func eventSubject(m *metav1.PartialObjectMetadata) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}
