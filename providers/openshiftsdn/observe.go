package openshiftsdn

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/operandorder"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// observed is what rendering needs to know of the cluster.
type observed struct {
	// sets are the DaemonSets, in the order of an upgrade.
	sets []operandorder.Set
	// openShift is true on OpenShift.
	openShift bool
}

// Observe reads how far the DaemonSets have been rolled out, and whether this is OpenShift.
func (OpenShiftSDN) Observe(ctx context.Context, r client.Reader, _ *operatorv1.NetworkSpec) (provider.Renderer, error) {
	if r == nil {
		return observed{}, nil
	}
	sets, err := operandorder.Read(ctx, r, agentconfig.Namespace, agentconfig.Switch, agentconfig.Node, agentconfig.Controller)
	if err != nil {
		return nil, err
	}
	o := observed{sets: sets}
	o.openShift, err = isOpenShift(ctx, r)
	return o, err
}

// isOpenShift reports whether the API of OpenShift's operators exists.
func isOpenShift(ctx context.Context, r client.Reader) (bool, error) {
	const name = "clusteroperators.config.openshift.io"
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.Get(ctx, client.ObjectKey{Name: name}, crd)
	switch {
	case err == nil:
		return true, nil
	// A user who previews a change may not be allowed to read CRDs.
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err):
		return false, nil
	}
	return false, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
}
