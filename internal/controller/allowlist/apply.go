package allowlist

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// apply does what was decided.
func (c *Controller) apply(ctx context.Context, w world, d decision) error {
	if d.Create != nil {
		list := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: listName, Annotations: map[string]string{
				"kubernetes.io/description": "The sysctls that pods may set on their interfaces, one regular expression a line. Edit it; delete it to get the default back.",
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
		c.Log.Info("all nodes have the default list again", "daemonset", workload)
	case d.Distribute != nil:
		return c.distribute(ctx, w, *d.Distribute)
	}
	return nil
}

// distribute makes the DaemonSet what it should be.
func (c *Controller) distribute(ctx context.Context, w world, list string) error {
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
	there, err := get(ctx, c.Live, account, &corev1.ServiceAccount{})
	if err != nil {
		return err
	}
	if there != nil {
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

// differences returns what a DaemonSet lacks.
func differences(want *unstructured.Unstructured, have *appsv1.DaemonSet) ([]string, error) {
	if have == nil {
		return nil, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
	if err != nil {
		return nil, fmt.Errorf("read DaemonSet %s: %w", workload, err)
	}
	return plan.Differences(want, &unstructured.Unstructured{Object: content}), nil
}

// tell makes an event on the list, which is where its author looks, of what is wrong with it, and that nodes have it.
func (c *Controller) tell(w world, d decision) {
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
	said := w.List.ResourceVersion + reason
	before := c.told
	c.told = said
	// After a start no one needs to hear that all is as it was.
	if before == said || before == "" && kind == corev1.EventTypeNormal {
		return
	}
	about := w.List.DeepCopy()
	about.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	const longestNote = 1024
	if len(note) > longestNote {
		note = strings.ToValidUTF8(note[:longestNote-3], "") + "..."
	}
	c.Events.Eventf(about, nil, kind, reason, "Reconcile", "%s", note)
}
