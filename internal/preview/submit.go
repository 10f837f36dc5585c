package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// FieldManager is the field manager of cno.
const FieldManager = "cno"

// ErrShortForm is the error of an edit of the Network while a NetworkConfig determines its specification.
var ErrShortForm = errors.New("the network is configured by NetworkConfig/default, which would undo the change: change that object instead")

// ErrChanged is the error of a configuration whose object has changed since it was planned.
var ErrChanged = errors.New("was changed after the plan was made")

// Submit applies a configuration by server-side apply, with the acknowledgement of the change unless it is empty, and returns
// the generation of the object. Fields of other field managers cause a conflict unless force is true.
func (c Cluster) Submit(ctx context.Context, object map[string]any, acknowledgement string, force bool) (int64, error) {
	return c.write(ctx, object, acknowledgement, "", force)
}

// SubmitPlanned is like Submit, but returns ErrChanged unless the object still has the generation for which it was planned; 0 is that of an
// object that does not exist.
func (c Cluster) SubmitPlanned(ctx context.Context, object map[string]any, acknowledgement string, force bool, planned int64) (generation int64, err error) {
	// The resource version excludes an edit between the read and the write. It also changes with the status, which is no conflict.
	err = retry.OnError(retry.DefaultRetry, staleRead, func() error {
		live, err := c.live(ctx, object)
		if err != nil {
			return err
		}
		if live.GetGeneration() != planned {
			return ErrChanged
		}
		generation, err = c.write(ctx, object, acknowledgement, live.GetResourceVersion(), force)
		return err
	})
	return generation, err
}

// staleRead reports whether an object was written between its read and its write, other than that fields belong to another field manager.
func staleRead(err error) bool {
	return apierrors.IsConflict(err) && !fieldConflict(err)
}

func fieldConflict(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// Generation returns the generation of the object of a configuration; 0 if it does not exist.
func (c Cluster) Generation(ctx context.Context, object map[string]any) (int64, error) {
	live, err := c.live(ctx, object)
	return live.GetGeneration(), err
}

// live reads the object of a configuration. It is empty if it does not exist or its CRD is not installed.
func (c Cluster) live(ctx context.Context, object map[string]any) (*unstructured.Unstructured, error) {
	u, none := &unstructured.Unstructured{Object: object}, &unstructured.Unstructured{}
	r, err := c.resource(u.GroupVersionKind(), "")
	if meta.IsNoMatchError(err) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	live, err := r.Get(ctx, u.GetName(), metav1.GetOptions{})
	if err != nil {
		return none, client.IgnoreNotFound(err)
	}
	return live, nil
}

// write is Submit, of an object with a resource version unless that is empty.
func (c Cluster) write(ctx context.Context, object map[string]any, acknowledgement, resourceVersion string, force bool) (int64, error) {
	written, err := c.submit(ctx, object, acknowledgement, resourceVersion, metav1.ApplyOptions{FieldManager: FieldManager, Force: force})
	if fieldConflict(err) {
		return 0, fmt.Errorf("%w; %s", err, conflictHint(err))
	}
	if err != nil {
		return 0, err
	}
	return written.GetGeneration(), nil
}

// conflictHint returns the remedy for a conflict with another field manager. The fields of an object that was created with
// kubectl apply belong to kubectl's client-side manager.
func conflictHint(err error) string {
	if strings.Contains(err.Error(), `"kubectl-client-side-apply"`) {
		return "the object was written with kubectl apply, whose field manager is kubectl-client-side-apply: add --force-conflicts once, and cno manages these fields from then on"
	}
	return "add --force-conflicts to take these fields over from the other field manager"
}

// admit is a dry run of Submit that ignores conflicts with other field managers.
func (c Cluster) admit(ctx context.Context, object map[string]any, acknowledgement string) error {
	_, err := c.submit(ctx, object, acknowledgement, "", metav1.ApplyOptions{FieldManager: FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
	return err
}

func (c Cluster) submit(ctx context.Context, object map[string]any, acknowledgement, resourceVersion string, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	u := (&unstructured.Unstructured{Object: object}).DeepCopy()
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if resourceVersion != "" {
		u.SetResourceVersion(resourceVersion)
	}
	if acknowledgement != "" {
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[pipeline.AcknowledgeAnnotation] = acknowledgement
		u.SetAnnotations(annotations)
	}
	r, err := c.resource(u.GroupVersionKind(), "")
	if err != nil {
		return nil, err
	}
	return r.Apply(ctx, u.GetName(), u, options)
}

// Network reads Network/cluster.
func (c Cluster) Network(ctx context.Context) (*unstructured.Unstructured, error) {
	r, err := c.resource(operatorv1.GroupVersion.WithKind("Network"), "")
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, operatorv1.NetworkName, metav1.GetOptions{})
}

// Patch applies a merge patch to Network/cluster unless another client has changed it meanwhile, and returns its generation.
func (c Cluster) Patch(ctx context.Context, network *unstructured.Unstructured, patch map[string]any) (int64, error) {
	if err := c.shortForm(ctx); err != nil {
		return 0, err
	}
	if err := unstructured.SetNestedField(patch, network.GetResourceVersion(), "metadata", "resourceVersion"); err != nil {
		return 0, err
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return 0, err
	}
	r, err := c.resource(operatorv1.GroupVersion.WithKind("Network"), "")
	if err != nil {
		return 0, err
	}
	written, err := r.Patch(ctx, operatorv1.NetworkName, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil {
		return 0, err
	}
	return written.GetGeneration(), nil
}

// Annotate sets annotations of Network/cluster; nil removes one. It also works while a NetworkConfig determines the
// specification.
func (c Cluster) Annotate(ctx context.Context, annotations map[string]any) error {
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	r, err := c.resource(operatorv1.GroupVersion.WithKind("Network"), "")
	if err != nil {
		return err
	}
	if _, err := r.Patch(ctx, operatorv1.NetworkName, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: FieldManager}); err != nil {
		return fmt.Errorf("annotate network: %w", err)
	}
	return nil
}

// shortForm returns ErrShortForm if there is a NetworkConfig.
func (c Cluster) shortForm(ctx context.Context) error {
	r, err := c.resource(networkoperatorv1.GroupVersion.WithKind("NetworkConfig"), "")
	if err != nil {
		return nil //nolint:nilerr // the CRD is not installed: there is none
	}
	_, err = r.Get(ctx, networkoperatorv1.NetworkConfigName, metav1.GetOptions{})
	if err == nil {
		return ErrShortForm
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("read NetworkConfig/default: %w", err)
}
