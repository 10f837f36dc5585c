package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/status"
)

// pollInterval is the interval at which the operator's Deployment is read.
const pollInterval = time.Second

// applier applies the objects that install the operator.
type applier struct {
	cluster preview.Cluster
	out     io.Writer
}

// all applies the objects in their order by server-side apply, and takes over all their fields.
func (a applier) all(ctx context.Context, objects []*unstructured.Unstructured) error {
	for i, o := range objects {
		if _, err := fmt.Fprintf(a.out, "[%d/%d] %s\n", i+1, len(objects), label(o)); err != nil {
			return err
		}
		if err := a.adopt(ctx, o); err != nil {
			return fmt.Errorf("apply %s: %w", label(o), err)
		}
		if _, err := a.one(ctx, o, nil); err != nil {
			return fmt.Errorf("apply %s: %w", label(o), err)
		}
	}
	return nil
}

func label(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// resource returns the client for an object.
func (a applier) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := a.cluster.Mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	r := a.cluster.API.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return r.Namespace(o.GetNamespace()), nil
	}
	return r, nil
}

// one applies an object. dryRun is nil, or metav1.DryRunAll.
func (a applier) one(ctx context.Context, o *unstructured.Unstructured, dryRun []string) (*unstructured.Unstructured, error) {
	r, err := a.resource(o)
	if err != nil {
		return nil, err
	}
	return r.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: preview.FieldManager, Force: true, DryRun: dryRun})
}

// adopt moves the ownership of fields from kubectl apply to this field manager, so that fields that a release no longer has are
// removed.
func (a applier) adopt(ctx context.Context, o *unstructured.Unstructured) error {
	r, err := a.resource(o)
	if err != nil {
		return err
	}
	live, err := r.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New("kubectl-client-side-apply", "kubectl"), preview.FieldManager)
	if err != nil || patch == nil {
		return err
	}
	_, err = r.Patch(ctx, o.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: preview.FieldManager})
	return err
}

// running waits until the new revision of the operator runs. The error of a timeout names the cause.
func (a applier) running(ctx context.Context) error {
	last := ""
	for {
		done, state, err := a.state(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if done {
			return nil
		}
		if state != "" && state != last {
			if _, err := fmt.Fprintln(a.out, state); err != nil {
				return err
			}
			last = state
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the operator does not run in time: %s", last)
			}
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// state reports whether all replicas of the operator run, and describes the missing ones.
func (a applier) state(ctx context.Context) (done bool, state string, err error) {
	var d appsv1.Deployment
	if err := a.cluster.Client.Get(ctx, client.ObjectKey{Namespace: a.cluster.Namespace, Name: status.OperatorDeployment}, &d); err != nil {
		return false, "", fmt.Errorf("read Deployment %s: %w", status.OperatorDeployment, err)
	}
	desired := int32(1)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	s := d.Status
	if s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == desired && s.AvailableReplicas == desired && s.Replicas == desired {
		return true, "", nil
	}
	state = fmt.Sprintf("Deployment %s/%s: %d of %d pods are ready", d.Namespace, d.Name, min(s.UpdatedReplicas, s.AvailableReplicas), desired)
	var pods corev1.PodList
	if err := a.cluster.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return false, state, nil //nolint:nilerr // without the pods, only the cause is missing in the sentence
	}
	for _, p := range pods.Items {
		if cause := causeOf(p); cause != "" {
			return false, state + "; pod " + p.Name + ": " + cause, nil
		}
	}
	return false, state, nil
}

// causeOf returns the reason why a pod is not ready; "" if unknown.
func causeOf(p corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "ContainerCreating":
			return strings.TrimSuffix(c.State.Waiting.Reason+": "+c.State.Waiting.Message, ": ")
		case c.State.Terminated != nil:
			return strings.TrimSuffix(c.State.Terminated.Reason+": "+c.State.Terminated.Message, ": ")
		}
	}
	return ""
}

// same reports whether an object would be stored without changes.
func same(a, b *unstructured.Unstructured) bool {
	strip := func(o *unstructured.Unstructured) string {
		o = o.DeepCopy()
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
		if len(o.GetAnnotations()) == 0 {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
		}
		text, _ := json.Marshal(o.Object)
		return string(text)
	}
	return strip(a) == strip(b)
}
