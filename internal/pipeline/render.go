package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// render renders the objects of every part, adds the NetworkPolicies of its namespaces, and labels all of them as managed by the
// operator. Like bootstrap, it keeps errors in the parts.
func render(_ context.Context, s *state) error {
	owners := map[manifest.Key]string{}
	for _, p := range s.parts {
		out := ComponentOutput{Name: p.name}
		if p.err == nil {
			err := s.guard(Render, p.name, func() (err error) {
				out.Output, err = s.renderPart(p, owners)
				return err
			})
			if err != nil {
				p.err, out.Output = &Error{Stage: Render, Component: p.name, Err: err}, provider.Output{}
			}
		}
		out.Err = p.err
		s.result.Outputs = append(s.result.Outputs, out)
		if p.name == string(s.result.Spec.DefaultNetwork.Type) {
			s.result.MTU = out.Output.MTU
		}
	}
	return nil
}

// renderPart renders one part. owners maps objects to their parts: no two parts may have the same object.
func (s *state) renderPart(p *part, owners map[manifest.Key]string) (provider.Output, error) {
	out, err := p.renderer.Render(s.result.Spec, s.in.Cluster)
	if err != nil {
		return provider.Output{}, err
	}
	policies, err := isolate(out.Objects, owners, s.registry.Workloads())
	if err != nil {
		return provider.Output{}, err
	}
	all := slices.Concat(out.Objects, policies)
	marked, own := make([]manifest.Object, 0, len(all)), map[manifest.Key]string{}
	for i, o := range all {
		if o.Object == nil || o.Object.GetAPIVersion() == "" || o.Object.GetKind() == "" || o.Object.GetName() == "" {
			return provider.Output{}, fmt.Errorf("object %d of %d has no apiVersion, kind or name", i+1, len(out.Objects))
		}
		// Renderers may return objects that they retain.
		o.Object = o.Object.DeepCopy()
		if owner := owners[o.Key()] + own[o.Key()]; owner != "" {
			return provider.Output{}, fmt.Errorf("%s is rendered twice: by %s and %s", o.Key(), owner, p.name)
		}
		own[o.Key()] = p.name
		marked = append(marked, o)
	}
	for _, o := range marked {
		if err := OverrideWorkload(o.Object, s.result.Spec.Workloads); err != nil {
			return provider.Output{}, fmt.Errorf("override %s as spec.workloads has it: %w", o.Key(), err)
		}
		manifest.Stamp(o, p.name, s.in.Cluster.ReleaseVersion)
		if err := stampPods(o.Object, p.name); err != nil {
			return provider.Output{}, fmt.Errorf("label the pods of %s: %w", o.Key(), err)
		}
		if err := addPullSecret(o.Object, s.in.Cluster.PullSecret); err != nil {
			return provider.Output{}, fmt.Errorf("add the pull secret to %s: %w", o.Key(), err)
		}
	}
	maps.Copy(owners, own)
	out.Objects = manifest.Sorted(marked)
	return out, nil
}

// stampPods labels the pods of a workload with the component, so that all pods of a component can be listed. It omits the
// version: a new version must not restart pods that do not change otherwise.
func stampPods(o *unstructured.Unstructured, component string) error {
	if !manifest.IsWorkload(manifest.KeyOf(o).GroupKind()) {
		return nil
	}
	path := []string{"spec", "template", "metadata", "labels"}
	labels, _, err := unstructured.NestedStringMap(o.Object, path...)
	if err != nil {
		return err
	}
	if labels == nil {
		labels = map[string]string{}
	}
	labels[manifest.LabelManagedBy], labels[manifest.LabelComponent] = manifest.ManagedBy, component
	return unstructured.SetNestedStringMap(o.Object, labels, path...)
}

// addPullSecret adds a pull secret to the pods of a workload, unless the name is empty.
func addPullSecret(o *unstructured.Unstructured, name string) error {
	if name == "" || !manifest.IsWorkload(manifest.KeyOf(o).GroupKind()) {
		return nil
	}
	path := []string{"spec", "template", "spec", "imagePullSecrets"}
	existing, _, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil {
		return err
	}
	return unstructured.SetNestedSlice(o.Object, append(existing, map[string]any{"name": name}), path...)
}
