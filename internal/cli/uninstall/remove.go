package uninstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

type crd = apiextensionsv1.CustomResourceDefinition

const (
	// every is the interval at which the deletion of objects is checked.
	every = 200 * time.Millisecond
	// patience is the time that pods may take to end or to start; pods of a powered-off node never do.
	patience = time.Minute
)

// remover uninstalls the operator and its network. logf prints the progress.
type remover struct {
	preview.Cluster
	operands provider.Operands
	logf     func(format string, args ...any)
	stays    []string
}

// remove deletes the parts in their order.
func (r *remover) remove(ctx context.Context, p parts) error {
	agents, err := r.cleaners(ctx, p.agents)
	if err != nil {
		return err
	}
	if err := r.dataOnNodes(ctx, p.rest); err != nil {
		return err
	}
	r.logf("ending the operator")
	if err := r.endOperator(ctx, p); err != nil {
		return err
	}
	if err := r.deleteAll(ctx, p.clients); err != nil {
		return err
	}
	for _, o := range p.clients {
		if err := r.waitDeleted(ctx, o); err != nil {
			return err
		}
	}
	for _, l := range agents {
		if err := r.clean(ctx, l); err != nil {
			return err
		}
	}
	r.logf("deleting everything else")
	if err := r.deleteAll(ctx, p.custom, p.rest, p.kinds, p.namespaces); err != nil {
		return err
	}
	for _, list := range [][]object{p.kinds, p.namespaces} {
		for _, o := range list {
			if err := r.waitDeleted(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOperator deletes the operator, and then the policies, which it would recreate. The policies let its Deployment be deleted for
// the annotation.
func (r *remover) endOperator(ctx context.Context, p parts) error {
	for _, o := range p.operator {
		resource, err := r.resource(o)
		if err != nil {
			return err
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, admission.AllowDeletion)
		if _, err := resource.Patch(ctx, o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("annotate %s: %w", o, err)
		}
	}
	if err := r.deleteAll(ctx, p.operator); err != nil {
		return err
	}
	if err := r.podsGone(ctx, r.Namespace, "name="+status.OperatorDeployment); err != nil {
		return fmt.Errorf("wait for the operator to end: %w", err)
	}
	return r.deleteAll(ctx, p.policies)
}

func (r *remover) resource(o object) (dynamic.ResourceInterface, error) {
	mapping, err := r.Mapper.RESTMapping(o.gvk.GroupKind(), o.gvk.Version)
	if err != nil {
		return nil, err
	}
	if o.namespace == "" {
		return r.API.Resource(mapping.Resource), nil
	}
	return r.API.Resource(mapping.Resource).Namespace(o.namespace), nil
}

func (r *remover) deleteAll(ctx context.Context, lists ...[]object) error {
	for _, list := range lists {
		for _, o := range list {
			if err := r.delete(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// delete deletes an object and its dependents. A deleted policy stays effective for a moment, in which the API server still
// refuses requests.
func (r *remover) delete(ctx context.Context, o object) error {
	foreground := metav1.DeletePropagationForeground
	return r.until(ctx, patience, "delete "+o.String(), func() error {
		resource, err := r.resource(o)
		if err == nil {
			err = resource.Delete(ctx, o.name, metav1.DeleteOptions{PropagationPolicy: &foreground})
		}
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		return err
	}, apierrors.IsForbidden, apierrors.IsInvalid)
}

// waitDeleted waits until an object is deleted.
func (r *remover) waitDeleted(ctx context.Context, o object) error {
	return r.until(ctx, 0, "wait until "+o.String()+" is deleted", func() error {
		resource, err := r.resource(o)
		if err != nil {
			return nil //nolint:nilerr // the CRD is deleted with all its objects
		}
		_, err = resource.Get(ctx, o.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errRemaining
		}
		return err
	}, isRemaining)
}

var errRemaining = errors.New("it still exists")

func isRemaining(err error) bool { return errors.Is(err, errRemaining) }

// until repeats do until it succeeds, or returns an error that no function in passing accepts as temporary. A limit of 0 means that
// of the context.
func (r *remover) until(ctx context.Context, limit time.Duration, what string, do func() error, passing ...func(error) bool) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := do()
		if err == nil {
			return nil
		}
		passes := false
		for _, p := range passing {
			passes = passes || p(err)
		}
		if !passes {
			return fmt.Errorf("%s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
		case <-tick.C:
		}
	}
}
