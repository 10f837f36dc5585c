package idle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/idling"
)

// deploymentConfig is the kind of OpenShift's DeploymentConfigs.
var deploymentConfig = schema.GroupVersionKind{Group: "apps.openshift.io", Version: "v1", Kind: "DeploymentConfig"}

// plan lists the targets to scale and the Services to annotate.
type plan struct {
	services []corev1.Service
	// targets are the scalable owners of the pods of each Service, by its name.
	targets  map[string][]idling.Target
	warnings []string
	// written has the Services that were idled.
	written map[string]bool
}

// planned finds the targets of Services. The error has all Services that cannot be idled.
func planned(ctx context.Context, api client.Client, services []corev1.Service) (*plan, error) {
	p := &plan{services: services, targets: map[string][]idling.Target{}, written: map[string]bool{}}
	known := map[string]idling.Target{} // the targets found so far, by owner
	var failed []error
	for _, s := range services {
		targets, err := serving(ctx, api, s, known)
		if err != nil {
			failed = append(failed, fmt.Errorf("service %s/%s: %w", s.Namespace, s.Name, err))
			continue
		}
		p.targets[s.Name] = targets
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return p, p.warn(ctx, api)
}

// serving finds the owners of the pods of a Service.
func serving(ctx context.Context, api client.Client, s corev1.Service, known map[string]idling.Target) ([]idling.Target, error) {
	if len(s.Spec.Selector) == 0 {
		return nil, errors.New("it has no selector, so that it is not known what serves it")
	}
	var pods corev1.PodList
	if err := api.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels(s.Spec.Selector)); err != nil {
		return nil, fmt.Errorf("list its pods: %w", err)
	}
	var out []idling.Target
	var failed []error
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		t, err := owner(ctx, api, &pod, known)
		switch {
		case err != nil:
			failed = append(failed, err)
		case !slices.Contains(out, t):
			out = append(out, t)
		}
	}
	if len(failed) == 0 && len(out) == 0 {
		failed = append(failed, errors.New("it has no pods, so that there is nothing to scale"))
	}
	return out, errors.Join(failed...)
}

// owner finds the outermost scalable owner of a pod with its number of replicas.
func owner(ctx context.Context, api client.Client, pod *corev1.Pod, known map[string]idling.Target) (idling.Target, error) {
	var found *idling.Target
	var chain string
	for at := metav1.Object(pod); ; {
		ref := metav1.GetControllerOf(at)
		if ref == nil {
			break
		}
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil {
			return idling.Target{}, fmt.Errorf("pod %s: owner %s %s: %w", pod.Name, ref.Kind, ref.Name, err)
		}
		chain = ref.Kind + " " + ref.Name
		t := idling.Target{}
		t.Kind, t.Group, t.Name = ref.Kind, gv.Group, ref.Name
		if scalable(t, pod.Namespace) != nil {
			found = &t
		}
		above := &metav1.PartialObjectMetadata{}
		above.SetGroupVersionKind(gv.WithKind(ref.Kind))
		if err := api.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}, above); err != nil {
			return idling.Target{}, fmt.Errorf("pod %s: read %s: %w", pod.Name, chain, err)
		}
		at = above
	}
	switch {
	case chain == "":
		return idling.Target{}, fmt.Errorf("pod %s belongs to nothing that could be scaled; delete it, or have a Deployment create it", pod.Name)
	case found == nil:
		return idling.Target{}, fmt.Errorf("pod %s belongs to %s, which cannot be scaled", pod.Name, chain)
	}
	key := found.Kind + "/" + found.Name
	if t, ok := known[key]; ok {
		return t, nil
	}
	var err error
	if found.Replicas, err = replicas(ctx, api, *found, pod.Namespace); err != nil {
		return idling.Target{}, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	known[key] = *found
	return *found, nil
}

// scalable returns an empty object of a target; nil if it cannot be scaled.
func scalable(t idling.Target, namespace string) client.Object {
	if t.Kind == deploymentConfig.Kind && t.Group == deploymentConfig.Group {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(deploymentConfig)
		o.SetNamespace(namespace)
		o.SetName(t.Name)
		return o
	}
	return idling.Object(t, namespace)
}

// replicas returns the number of replicas that a target has, or had before it was idled.
func replicas(ctx context.Context, api client.Client, t idling.Target, namespace string) (int32, error) {
	scale, o := &autoscalingv1.Scale{}, scalable(t, namespace)
	if err := api.SubResource("scale").Get(ctx, o, scale); err != nil {
		return 0, fmt.Errorf("read the scale of %s %s: %w", t.Kind, t.Name, err)
	}
	if scale.Spec.Replicas > 0 {
		return scale.Spec.Replicas, nil
	}
	if err := api.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return 0, fmt.Errorf("read %s %s: %w", t.Kind, t.Name, err)
	}
	before, err := strconv.ParseInt(o.GetAnnotations()[idling.PreviousScale], 10, 32)
	if err != nil || before < 1 {
		return 0, fmt.Errorf("%s %s has no replicas, and no annotation %s with how many it had", t.Kind, t.Name, idling.PreviousScale)
	}
	return int32(before), nil
}

// warn finds other Services that lose their pods.
func (p *plan) warn(ctx context.Context, api client.Client) error {
	namespace := p.services[0].Namespace
	var all corev1.ServiceList
	if err := api.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list Services of namespace %s: %w", namespace, err)
	}
	for _, other := range all.Items {
		if len(other.Spec.Selector) == 0 || slices.ContainsFunc(p.services, func(s corev1.Service) bool { return s.Name == other.Name }) {
			continue
		}
		for _, s := range p.services {
			if labels.SelectorFromSet(other.Spec.Selector).Matches(labels.Set(s.Spec.Selector)) {
				p.warnings = append(p.warnings, fmt.Sprintf("Service %s/%s is served by the same pods and is not idled: it refuses connections meanwhile", namespace, other.Name))
				break
			}
		}
	}
	return nil
}

// write annotates the Services, then scales. Annotations come first, so that a connection finds either an endpoint or the annotation.
func (p *plan) write(ctx context.Context, api client.Client, now time.Time) error {
	var failed []error
	done := map[idling.Target]error{}
	for _, s := range p.services {
		state := idling.State{At: now, Targets: p.targets[s.Name]}
		err := mark(ctx, api, &s, state)
		for _, t := range state.Targets {
			if err != nil {
				break
			}
			if _, repeated := done[t]; !repeated {
				done[t] = toZero(ctx, api, s.Namespace, t, now)
			}
			err = done[t]
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("service %s/%s: %w", s.Namespace, s.Name, err))
			continue
		}
		p.written[s.Name] = true
	}
	return errors.Join(failed...)
}

// mark annotates a Service and, if they exist, its Endpoints.
func mark(ctx context.Context, api client.Client, s *corev1.Service, state idling.State) error {
	annotations, err := idling.Encode(state)
	if err != nil {
		return err
	}
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}} //nolint:staticcheck // idled Services are marked on both
	if err := annotate(ctx, api, endpoints, annotations); client.IgnoreNotFound(err) != nil {
		return err
	}
	return annotate(ctx, api, s, annotations)
}

// toZero records the number of replicas on a target and scales it to zero.
func toZero(ctx context.Context, api client.Client, namespace string, t idling.Target, now time.Time) error {
	o := scalable(t, namespace)
	if err := annotate(ctx, api, o, map[string]string{
		idling.IdledAt: now.UTC().Format(time.RFC3339), idling.PreviousScale: strconv.Itoa(int(t.Replicas)),
	}); err != nil {
		return err
	}
	// A patch does not conflict with controllers that write the object meanwhile.
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	if err := api.SubResource("scale").Patch(ctx, o, patch, client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		return fmt.Errorf("scale %s %s: %w", t.Kind, t.Name, err)
	}
	return nil
}

func annotate(ctx context.Context, api client.Client, o client.Object, annotations map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	if err := api.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("annotate %T %s: %w", o, o.GetName(), err)
	}
	return nil
}
