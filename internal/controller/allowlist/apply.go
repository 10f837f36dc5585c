package allowlist

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// apply carries out a decision.
func (c *Controller) apply(ctx context.Context, w observation, d decision) error {
	if d.Create != nil {
		list := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: listName, Annotations: map[string]string{
				"kubernetes.io/description": "The sysctls that pods may set on their interfaces, one regular expression per line. Edit it as needed; delete it to restore the default.",
			}},
			Data: map[string]string{key: *d.Create + "\n"},
		}
		if err := c.client.Create(ctx, list, fieldManager); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create ConfigMap %s/%s: %w", Namespace, listName, err)
		}
		c.Log.Info("created the default list", "configmap", listName)
	}
	switch {
	case d.Remove:
		uid := w.DaemonSet.UID
		if err := c.client.Delete(ctx, w.DaemonSet, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete DaemonSet %s/%s: %w", Namespace, workload, err)
		}
		c.Log.Info("deleted, because all nodes have the default list", "daemonset", workload)
	case d.Distribute != nil:
		return c.distribute(ctx, w, *d.Distribute)
	}
	return nil
}

// distribute applies the DaemonSet with the list.
func (c *Controller) distribute(ctx context.Context, w observation, list string) error {
	s := settings{Image: c.Image, Version: c.Version, Since: w.Now}
	if w.DaemonSet != nil && listOf(w.DaemonSet) == list {
		s.Since = since(w.DaemonSet)
	}
	if c.Workloads != nil {
		var err error
		if s.Workloads, err = c.Workloads(ctx); err != nil {
			return err
		}
	}
	serviceAccount, err := get(ctx, c.Live, account, &corev1.ServiceAccount{})
	if err != nil {
		return err
	}
	if serviceAccount != nil {
		s.Account = account
	}
	want, err := daemonSet(list, s)
	if err != nil {
		return fmt.Errorf("render DaemonSet %s: %w", workload, err)
	}
	why, err := differences(want.Object, w.DaemonSet)
	if err != nil || w.DaemonSet != nil && len(why) == 0 {
		return err
	}
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want.Object), fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply DaemonSet %s/%s: %w", Namespace, workload, err)
	}
	c.Log.Info("applied", "daemonset", workload, "why", why)
	return nil
}

// differences returns the fields of a DaemonSet that differ.
func differences(want *unstructured.Unstructured, live *appsv1.DaemonSet) ([]string, error) {
	if live == nil {
		return nil, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, fmt.Errorf("read DaemonSet %s: %w", workload, err)
	}
	return plan.Differences(want, &unstructured.Unstructured{Object: content}), nil
}

// recordEvent records an event on the list about its errors, or that all nodes have it.
func (c *Controller) recordEvent(w observation, d decision) {
	if w.List == nil {
		return
	}
	kind, reason, note := corev1.EventTypeNormal, "Distributed", "all nodes have this list"
	for _, f := range d.Findings {
		if f.Effect != status.Degraded {
			return
		}
		kind, reason, note = corev1.EventTypeWarning, f.Reason, f.Message
	}
	event := w.List.ResourceVersion + reason
	before := c.lastEvent
	c.lastEvent = event
	// An unchanged state is not reported after a restart.
	if before == event || before == "" && kind == corev1.EventTypeNormal {
		return
	}
	subject := w.List.DeepCopy()
	subject.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	c.Events.Eventf(subject, nil, kind, reason, eventaction.Of("Reconcile", note), "%s", phrase.Note(note))
}
