package apitest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	controlplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

// deleteTimeout is how long an object may take to be deleted. Only a finalizer delays a deletion. That of a CRD lists and deletes the CRD's objects: while the server
// initializes their storage, the list may take the minute after which the server ends a request, and is then repeated with back-off.
const deleteTimeout = 3 * time.Minute

// Scheme returns a new scheme with the built-in types, CustomResourceDefinition, the types of this project, and those of
// OpenShift that the operator uses.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	addIngressController(scheme)
	return scheme, errors.Join(
		clientgoscheme.AddToScheme(scheme),
		apiextensionsv1.AddToScheme(scheme),
		operatorv1.AddToScheme(scheme),
		networkv1.AddToScheme(scheme),
		networkoperatorv1.AddToScheme(scheme),
		sdnv1.AddToScheme(scheme),
		configv1.Install(scheme),
		controlplanev1alpha1.Install(scheme),
		machineconfigv1.Install(scheme),
	)
}

// ClientFor returns a client without a cache for a configuration, which knows the types of Scheme.
func (s *Server) ClientFor(config *rest.Config) (client.Client, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, fmt.Errorf("create scheme: %w", err)
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// Namespace creates a namespace for a test and returns its name. It stays behind, since nothing empties
// namespaces here.
func (s *Server) Namespace(tb testing.TB) string {
	tb.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := s.Client.Create(tb.Context(), namespace); err != nil {
		tb.Fatalf("create namespace: %v", err)
	}
	return namespace.Name
}

// Create creates an object, fails the test if the server refuses it, and deletes it when the test ends.
func (s *Server) Create(tb testing.TB, object client.Object) {
	tb.Helper()
	if err := s.Client.Create(tb.Context(), object); err != nil {
		tb.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
	s.DeleteAfter(tb, object)
}

// DeleteAfter deletes an object when the test ends and waits until it is deleted, so that the next test may
// create one of the same name. It is no error if there is none.
func (s *Server) DeleteAfter(tb testing.TB, object client.Object) {
	tb.Helper()
	doomed := object.DeepCopyObject().(client.Object)
	tb.Cleanup(func() {
		// The context of the test has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
		defer cancel()
		if err := s.delete(ctx, doomed); err != nil {
			tb.Errorf("delete %T %s: %v", doomed, doomed.GetName(), err)
		}
	})
}

// Change changes an object that was created or read before, with a merge patch of what the function changes in it. In contrast to an
// update, the patch does not conflict with the writes of controllers, which may come at any time, and does not revert them. The test
// fails if the server refuses the patch. Afterwards the object is as the server has it.
func Change(tb testing.TB, api client.Client, object client.Object, change func(), options ...client.PatchOption) {
	tb.Helper()
	patch := patchOf(object, change)
	if err := api.Patch(tb.Context(), object, patch, options...); err != nil {
		tb.Fatalf("change %T %s: %v", object, object.GetName(), err)
	}
}

// ChangeStatus is Change for the status of an object whose kind has the subresource.
func ChangeStatus(tb testing.TB, api client.Client, object client.Object, change func(), options ...client.SubResourcePatchOption) {
	tb.Helper()
	patch := patchOf(object, change)
	if err := api.Status().Patch(tb.Context(), object, patch, options...); err != nil {
		tb.Fatalf("change status of %T %s: %v", object, object.GetName(), err)
	}
}

// patchOf changes an object, and returns the patch from what it was before.
func patchOf(object client.Object, change func()) client.Patch {
	before := object.DeepCopyObject().(client.Object)
	change()
	return client.MergeFrom(before)
}

func (s *Server) delete(ctx context.Context, object client.Object) error {
	if err := s.Client.Delete(ctx, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	key := client.ObjectKeyFromObject(object)
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := s.Client.Get(ctx, key, object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}
