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

// objectKey identifies an object.
type objectKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(o client.Object) objectKey {
	return objectKey{o.GetObjectKind().GroupVersionKind(), o.GetNamespace(), o.GetName()}
}

// applied identifies the content and version of the last apply of an object.
type applied struct{ hash, version string }

// versionOf identifies a version of an object. For kinds with a status it changes only with the generation.
func versionOf(m metav1.Object) string {
	if m.GetGeneration() > 0 {
		return fmt.Sprintf("%s/%d", m.GetUID(), m.GetGeneration())
	}
	return fmt.Sprintf("%s/%s", m.GetUID(), m.GetResourceVersion())
}

// location is a kind and namespace in which the controller creates objects.
type location struct {
	kind      schema.GroupVersionKind
	namespace string
}

func kindDaemonSet() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
}

func locations(w input) []location {
	all := []location{
		{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, nodereport.Namespace},
		{kindDaemonSet(), nodereport.Namespace},
	}
	if w.MachineConfigs {
		all = append(all, location{mcfgv1.GroupVersion.WithKind("MachineConfig"), ""})
	}
	if w.BareMetalHosts {
		all = append(all, location{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, metal.Namespace})
	}
	return all
}

// apply applies the desired objects and deletes the others. Errors of the API server are added to the config's failures; failed reports
// whether there are any.
func (c *Controller) apply(ctx context.Context, w input, d decision) (failed bool, err error) {
	if c.lastApplied == nil {
		c.lastApplied = map[objectKey]applied{}
	}
	wanted := map[objectKey]bool{}
	for _, o := range d.Objects {
		key := keyOf(o)
		wanted[key] = true
		if err := c.applyOne(ctx, o, w.Live[key]); err != nil {
			d.Failures[o.config] = append(d.Failures[o.config], fmt.Sprintf("%s %s: %v", key.kind.Kind, key.name, err))
		}
	}
	for _, failures := range d.Failures {
		failed = failed || len(failures) > 0
	}
	for key, live := range w.Live {
		config := live.GetLabels()[labelConfig]
		// While an object is refused, the objects that it replaces stay.
		if wanted[key] || slices.Contains(d.Keep, config) || len(d.Failures[config]) > 0 {
			continue
		}
		uid := live.GetUID()
		if err := c.Client.Delete(ctx, live, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return failed, fmt.Errorf("delete %s %s: %w", key.kind.Kind, key.name, err)
		}
		delete(c.lastApplied, key)
		if key.kind == kindDaemonSet() {
			if err := c.deleteReports(ctx, w, strings.TrimPrefix(key.name, agentPrefix), d.Configured); err != nil {
				return failed, err
			}
		}
		c.Log.Info("deleted because no HostNetworkConfig requests it", "kind", key.kind.Kind, "name", key.name)
	}
	return failed, nil
}

// listOwned lists the objects of the controller.
func (c *Controller) listOwned(ctx context.Context, w input) (map[objectKey]*metav1.PartialObjectMetadata, error) {
	objects := map[objectKey]*metav1.PartialObjectMetadata{}
	for _, p := range locations(w) {
		if p.kind.Kind == "ConfigMap" && len(w.Configs) == 0 && len(c.lastApplied) == 0 {
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
		if err := c.Live.List(ctx, list, client.InNamespace(p.namespace), ownedLabels()); err != nil {
			return nil, fmt.Errorf("list %ss: %w", p.kind.Kind, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(p.kind)
			objects[keyOf(&list.Items[i])] = &list.Items[i]
		}
	}
	return objects, nil
}

// ownedLabels selects the objects of the controller.
func ownedLabels() client.MatchingLabels {
	return client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component}
}

// cachedAsEmpty reports whether the cache has no ConfigMap of the controller. That is sufficient while the controller creates none, because
// a late one starts a reconcile.
func (c *Controller) cachedAsEmpty(ctx context.Context) (bool, error) {
	var list corev1.ConfigMapList
	if err := c.Client.List(ctx, &list, client.InNamespace(nodereport.Namespace), ownedLabels(), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list ConfigMaps: %w", err)
	}
	return len(list.Items) == 0, nil
}

// applyOne applies an object unless neither the desired nor the live object has changed since the last apply.
func (c *Controller) applyOne(ctx context.Context, o object, live *metav1.PartialObjectMetadata) error {
	key, hash := keyOf(o), manifest.Hash(manifest.Object{Object: o.Unstructured})
	if live != nil && c.lastApplied[key] == (applied{hash, versionOf(live)}) {
		return nil
	}
	sent := o.DeepCopy()
	options := []client.ApplyOption{fieldManager}
	if !o.shared {
		options = append(options, client.ForceOwnership)
	}
	err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), options...)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("another field manager owns a required field, which is not overwritten: %w", err)
	}
	if err != nil {
		return err
	}
	if live == nil || c.lastApplied[key].hash != hash {
		c.Log.Info("applied", "kind", key.kind.Kind, "name", key.name, "hash", hash)
	}
	if !o.shared {
		c.lastApplied[key] = applied{hash, versionOf(sent)}
	}
	return nil
}

// publish writes changed statuses.
func (c *Controller) publish(ctx context.Context, w input, d decision) error {
	for i := range w.Configs {
		config := &w.Configs[i]
		status := d.Statuses[config.Name]
		if !slices.Contains(d.Keep, config.Name) {
			c.condition(config, status, rendered(d.Failures[config.Name], d.Notes[config.Name]))
			for _, o := range d.Objects {
				if o.config == config.Name && !o.shared && !o.transient {
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
