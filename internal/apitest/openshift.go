package apitest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

// serveTimeout is how long the server may take to serve the kind of a new CRD, or to stop serving that of a deleted one.
const serveTimeout = time.Minute

// openShiftDefinitions returns definitions of OpenShift and of third parties by name.
func openShiftDefinitions(ctx context.Context, names []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if len(names) == 0 {
		return nil, nil
	}
	files, err := openshift.ModuleFiles(ctx, "")
	if err != nil {
		return nil, err
	}
	return openshift.Definitions(files, names...)
}

// addIngressController registers the one kind of OpenShift's group operator.openshift.io that tests use. The others stay
// away because that group also has this project's Network.
func addIngressController(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(osv1.GroupVersion, &osv1.IngressController{}, &osv1.IngressControllerList{})
}

// Install makes the running server serve more kinds of OpenShift and of third parties, which it names as
// Options.OpenShift does. It returns when they are served. They go, and their objects with them, when the test ends.
func (s *Server) Install(tb testing.TB, names ...string) {
	tb.Helper()
	definitions, err := openShiftDefinitions(tb.Context(), names)
	if err != nil {
		tb.Fatalf("install kinds: %v", err)
	}
	for _, definition := range definitions {
		s.Create(tb, definition)
	}
	for _, definition := range definitions {
		s.awaitServed(tb, definition, true)
	}
}

// Uninstall deletes the CRDs of kinds and their objects from the running server. It returns when they are deleted.
// Kinds that are not there are no error.
func (s *Server) Uninstall(tb testing.TB, names ...string) {
	tb.Helper()
	definitions, err := openShiftDefinitions(tb.Context(), names)
	if err != nil {
		tb.Fatalf("uninstall kinds: %v", err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), deleteTimeout)
	defer cancel()
	for _, definition := range definitions {
		if err := s.delete(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definition.Name}}); err != nil {
			tb.Fatalf("delete definition %s: %v", definition.Name, err)
		}
		s.awaitServed(tb, definition, false)
	}
}

// awaitServed waits until the server's discovery lists a kind, or does not. A definition is established before that.
func (s *Server) awaitServed(tb testing.TB, definition *apiextensionsv1.CustomResourceDefinition, want bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), serveTimeout)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		served, err := s.serves(definition)
		return served == want, err
	})
	if err != nil {
		tb.Fatalf("wait until served is %t for %s: %v", want, definition.Name, err)
	}
}

func (s *Server) serves(definition *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	c, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return false, fmt.Errorf("create discovery client: %w", err)
	}
	for _, version := range definition.Spec.Versions {
		if !version.Served {
			continue
		}
		list, err := c.ServerResourcesForGroupVersion(definition.Spec.Group + "/" + version.Name)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == definition.Spec.Names.Plural }) {
			return true, nil
		}
	}
	return false, nil
}
