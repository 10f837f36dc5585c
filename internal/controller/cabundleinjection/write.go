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
)

// verify compares the certificates in a ConfigMap with the right ones. Its metadata says that it has them, which any client can write that
// takes the name of this loop's field manager. A version that the loop has written or verified is not read.
func (c *Controller) verify(ctx context.Context, m *metav1.PartialObjectMetadata, b *bundle) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(m)
	read, again := c.memory.check(key, m.UID, m.ResourceVersion, b.hash, c.Now())
	if !read {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	// One that is not older comes from the memory of the API server, not from etcd.
	var cm corev1.ConfigMap
	err := c.Live.Get(ctx, key, &cm, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: m.ResourceVersion}})
	switch {
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, fmt.Errorf("read ConfigMap: %w", err)
	case err != nil || cm.UID != m.UID:
		return reconcile.Result{}, nil // its deletion is an event
	case cm.Data[cabundle.Key] == b.text:
		c.memory.seen(key, m.UID, cm.ResourceVersion, b.hash, c.Now())
		return reconcile.Result{}, nil
	}
	return c.inject(ctx, m, b)
}

// inject writes certificates to a ConfigMap that does not have them, unless that has been found to be of no use.
func (c *Controller) inject(ctx context.Context, m *metav1.PartialObjectMetadata, b *bundle) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(m)
	v := c.memory.consider(key, m.UID, m.ResourceVersion, b.hash, c.Now())
	if v.contested {
		c.tell(m, reasonContested, fmt.Sprintf("%s keeps writing the key ca-bundle.crt, which the label %s asks to be filled: have it leave the key alone, or take the label off",
			contender(m), InjectLabel))
	}
	if !v.write {
		return reconcile.Result{RequeueAfter: v.again}, nil
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
		c.Metrics.wrote("injected")
		c.memory.written(key, m.UID, version, b.hash, c.Now())
		c.Log.Debug("trusted certificates are injected", "namespace", m.Namespace, "configmap", m.Name)
		return reconcile.Result{}, nil
	}
	refused := refusalOf(err)
	switch {
	case refused == nil:
		c.Metrics.wrote("failed")
		return reconcile.Result{}, fmt.Errorf("inject trusted certificates: %w", err)
	case refused.quiet:
		c.memory.forget(key)
		return reconcile.Result{}, nil
	}
	c.Metrics.wrote("refused")
	return c.refuse(m, b, refused), nil
}

// refuse remembers that a ConfigMap does not get certificates, and reports a new reason on it.
func (c *Controller) refuse(m *metav1.PartialObjectMetadata, b *bundle, refused *refusal) reconcile.Result {
	if c.memory.refuse(client.ObjectKeyFromObject(m), m.UID, m.ResourceVersion, b.hash, refused.message, c.Now(), refused.again) {
		c.tell(m, refused.reason, refused.message)
		c.Log.Info("trusted certificates cannot be injected", "namespace", m.Namespace, "configmap", m.Name, "reason", refused.reason)
	}
	return reconcile.Result{RequeueAfter: refused.again}
}

// contender names who else writes the key.
func contender(m *metav1.PartialObjectMetadata) string {
	if name := m.Annotations[contenderAnnotation]; name != "" {
		return fmt.Sprintf("the field manager %q", name)
	}
	if m.Annotations[hashAnnotation] != "" {
		return fmt.Sprintf("another client with the operator's field manager %q", string(fieldManager))
	}
	return "another client"
}

// apply applies certificates, or nothing, and returns the version that the ConfigMap has then. Of the answer only the
// metadata is asked for.
func (c *Controller) apply(ctx context.Context, m *metav1.PartialObjectMetadata, b *bundle) (version string, err error) {
	content, err := body(m, b)
	if err != nil {
		return "", err
	}
	answer := target(client.ObjectKeyFromObject(m))
	if err := c.Client.Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, content), fieldManager, client.ForceOwnership, client.FieldValidation(metav1.FieldValidationIgnore)); err != nil {
		return "", err
	}
	return answer.ResourceVersion, nil
}

// release removes what this loop has put in a ConfigMap that no longer asks for it.
func (c *Controller) release(ctx context.Context, key types.NamespacedName) error {
	c.memory.forget(key)
	m := target(key)
	if err := c.Live.Get(ctx, key, m); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("read ConfigMap: %w", err)
	}
	ours, _ := owners(m.ManagedFields)
	if m.Labels[InjectLabel] == "true" || !ours.any || m.DeletionTimestamp != nil {
		return nil
	}
	if _, err := c.apply(ctx, m, nil); err != nil {
		refused := refusalOf(err)
		if refused == nil {
			return fmt.Errorf("remove trusted certificates: %w", err)
		}
		if !refused.quiet {
			c.tell(m, refused.reason, fmt.Sprintf("the trusted certificates stay in the ConfigMap, which no longer requests them: %v", err))
		}
		return nil
	}
	c.Metrics.wrote("removed")
	c.Log.Info("trusted certificates removed", "namespace", m.Namespace, "configmap", m.Name)
	c.Events.Eventf(about(m), nil, corev1.EventTypeNormal, reasonRemoved, eventaction.Of("Inject", reasonRemoved), "the label %s was removed, and with it the trusted certificates", InjectLabel)
	return nil
}

// releaseOrphans releases ConfigMaps that have stopped asking while no one was looking.
func (c *Controller) releaseOrphans(ctx context.Context) error {
	mark, err := labels.NewRequirement(markLabel, selection.Equals, []string{marked})
	if err != nil {
		return err
	}
	silent, err := labels.NewRequirement(InjectLabel, selection.NotEquals, []string{"true"})
	if err != nil {
		return err
	}
	list := targets()
	if err := c.Live.List(ctx, list, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*mark, *silent)}); err != nil {
		return fmt.Errorf("list ConfigMaps that no longer ask for certificates: %w", err)
	}
	for i := range list.Items {
		if err := c.release(ctx, client.ObjectKeyFromObject(&list.Items[i])); err != nil {
			return err
		}
	}
	return nil
}

// longestNote is how many bytes the API server lets the text of an event have, with some room for the mark that it was
// cut.
const longestNote = 1000

// tell makes an event on a ConfigMap.
func (c *Controller) tell(m *metav1.PartialObjectMetadata, reason, message string) {
	if len(message) > longestNote {
		message = message[:longestNote] + "..."
	}
	c.Events.Eventf(about(m), nil, corev1.EventTypeWarning, reason, eventaction.Of("Inject", message), "%s", message)
}

// about refers to a ConfigMap.
func about(m *metav1.PartialObjectMetadata) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
}
