package hostnetworkconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// objectKey names an object.
type objectKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(o client.Object) objectKey {
	return objectKey{o.GetObjectKind().GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// applied is what an object was when it was applied last.
type applied struct{ hash, version string }

// versionOf changes when someone changes an object; for kinds with a status only when more than that changes.
func versionOf(m metav1.Object) string {
	if m.GetGeneration() > 0 {
		return fmt.Sprintf("%s/%d", m.GetUID(), m.GetGeneration())
	}
	return fmt.Sprintf("%s/%s", m.GetUID(), m.GetResourceVersion())
}

// place is where objects of the loop can be.
type place struct {
	kind      schema.GroupVersionKind
	namespace string
}

func kindDaemonSet() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
}

func places(w world) []place {
	all := []place{
		{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, nodereport.Namespace},
		{kindDaemonSet(), nodereport.Namespace},
	}
	if w.MachineConfigs {
		all = append(all, place{mcfgv1.GroupVersion.WithKind("MachineConfig"), ""})
	}
	if w.BareMetalHosts {
		all = append(all, place{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, metal.Namespace})
	}
	return all
}

// apply makes the objects what they should be, and deletes those that no one wants any more. What the API server refuses is added
// to the failures of the config; failed says whether there is any.
func (c *Controller) apply(ctx context.Context, w world, d decision) (failed bool, err error) {
	if c.made == nil {
		c.made = map[objectKey]applied{}
	}
	wanted := map[objectKey]bool{}
	for _, o := range d.Objects {
		key := keyOf(o)
		wanted[key] = true
		if err := c.applyOne(ctx, o, w.There[key]); err != nil {
			d.Failures[o.config] = append(d.Failures[o.config], fmt.Sprintf("%s %s: %v", key.kind.Kind, key.name, err))
		}
	}
	for _, failures := range d.Failures {
		failed = failed || len(failures) > 0
	}
	for key, have := range w.There {
		config := have.GetLabels()[labelConfig]
		// While something is refused, what it takes the place of stays.
		if wanted[key] || slices.Contains(d.Keep, config) || len(d.Failures[config]) > 0 {
			continue
		}
		uid := have.GetUID()
		if err := c.Client.Delete(ctx, have, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return failed, fmt.Errorf("delete %s %s: %w", key.kind.Kind, key.name, err)
		}
		delete(c.made, key)
		if key.kind == kindDaemonSet() {
			if err := c.forget(ctx, w, strings.TrimPrefix(key.name, courierPrefix), d.Configured); err != nil {
				return failed, err
			}
		}
		c.Log.Info("deleted, since no HostNetworkConfig requests it", "kind", key.kind.Kind, "name", key.name)
	}
	return failed, nil
}

// look lists what the loop has made.
func (c *Controller) look(ctx context.Context, w world) (map[objectKey]*metav1.PartialObjectMetadata, error) {
	there := map[objectKey]*metav1.PartialObjectMetadata{}
	for _, p := range places(w) {
		if p.kind.Kind == "ConfigMap" && len(w.Configs) == 0 && len(c.made) == 0 {
			empty, err := c.cachedAsEmpty(ctx)
			if err != nil {
				return nil, err
			}
			if empty {
				continue
			}
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(p.kind)
		if err := c.Live.List(ctx, list, client.InNamespace(p.namespace), ours()); err != nil {
			return nil, fmt.Errorf("list %ss: %w", p.kind.Kind, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(p.kind)
			there[keyOf(&list.Items[i])] = &list.Items[i]
		}
	}
	return there, nil
}

// ours selects what the loop has made.
func ours() client.MatchingLabels {
	return client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component}
}

// cachedAsEmpty reports whether the cache has no ConfigMap that the loop has made. While the loop makes none, that is enough to know: one that
// comes to the cache late starts a reconcile.
func (c *Controller) cachedAsEmpty(ctx context.Context) (bool, error) {
	var list corev1.ConfigMapList
	if err := c.Client.List(ctx, &list, client.InNamespace(nodereport.Namespace), ours(), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list ConfigMaps: %w", err)
	}
	return len(list.Items) == 0, nil
}

// applyOne applies an object unless it is what it was when it was applied last, and that is what is wanted.
func (c *Controller) applyOne(ctx context.Context, o object, have *metav1.PartialObjectMetadata) error {
	key, hash := keyOf(o), manifest.Hash(manifest.Object{Object: o.Unstructured})
	if have != nil && c.made[key] == (applied{hash, versionOf(have)}) {
		return nil
	}
	sent := o.DeepCopy()
	options := []client.ApplyOption{fieldManager}
	if !o.shared {
		options = append(options, client.ForceOwnership)
	}
	err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), options...)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another field manager has set a field that is needed here; it is not overwritten: %w", err)
	}
	if err != nil {
		return err
	}
	if have == nil || c.made[key].hash != hash {
		c.Log.Info("applied", "kind", key.kind.Kind, "name", key.name, "hash", hash)
	}
	if !o.shared {
		c.made[key] = applied{hash, versionOf(sent)}
	}
	return nil
}

// publish writes the statuses that have changed.
func (c *Controller) publish(ctx context.Context, w world, d decision) error {
	for i := range w.Configs {
		config := &w.Configs[i]
		status := d.Statuses[config.Name]
		if !slices.Contains(d.Keep, config.Name) {
			c.condition(config, status, rendered(d.Failures[config.Name], d.Notes[config.Name]))
			for _, o := range d.Objects {
				if o.config == config.Name && !o.shared && !o.passing {
					status.Rendered = append(status.Rendered, networkv1.RenderedObject{
						Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Hash: manifest.Hash(manifest.Object{Object: o.Unstructured})})
				}
			}
		}
		if equality.Semantic.DeepEqual(*status, config.Status) {
			continue
		}
		config.Status = *status
		if err := c.Client.Status().Update(ctx, config, fieldManager); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write status of host network config %s: %w", config.Name, err)
		}
	}
	return nil
}
