package preview_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// A configuration is only applied to the object that it was planned for.
func TestAConfigurationIsSubmittedForThePlannedGeneration(t *testing.T) {
	server := apitest.Shared(t)
	cluster, err := preview.Open(server.Config, "ons")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(inUse), &object); err != nil {
		t.Fatal(err)
	}
	patch := func(ctx context.Context, body string) error {
		return server.Client.Patch(ctx, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}, client.RawPatch(types.MergePatchType, []byte(body)))
	}
	const edit, annotation = `{"spec":{"logLevel":"Debug"}}`, `{"metadata":{"annotations":{"a":"b"}}}`
	for _, row := range []struct {
		why string
		// exists is whether the Network exists when it is planned; then does what happens until it is submitted.
		exists  bool
		then    func(context.Context) error
		changed bool
	}{
		{"it does not exist, and is created", false, nil, false},
		{"another client has created it", false, func(ctx context.Context) error {
			var n operatorv1.Network
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &n); err != nil {
				return err
			}
			return server.Client.Create(ctx, &n)
		}, true},
		{"nothing has changed", true, nil, false},
		{"another client has edited it", true, func(ctx context.Context) error { return patch(ctx, edit) }, true},
		{"another client has annotated it, which is not planned for", true, func(ctx context.Context) error { return patch(ctx, annotation) }, false},
		{"another client has deleted it", true, func(ctx context.Context) error {
			return server.Client.Delete(ctx, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}})
		}, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			server.DeleteAfter(t, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}})
			if row.exists {
				if _, err := cluster.Submit(t.Context(), object, "", false); err != nil {
					t.Fatal(err)
				}
			}
			planned, err := cluster.Generation(t.Context(), object)
			if err != nil || (planned > 0) != row.exists {
				t.Fatalf("generation %d: %v", planned, err)
			}
			if row.then != nil {
				if err := row.then(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			before := generation(t, server)
			submitted, err := cluster.SubmitPlanned(t.Context(), object, "", true, planned)
			if errors.Is(err, preview.ErrChanged) != row.changed || !row.changed && (err != nil || submitted != generation(t, server)) {
				t.Errorf("generation %d: %v", submitted, err)
			}
			if after := generation(t, server); row.changed && after != before {
				t.Errorf("it is written nevertheless: generation %d, then %d", before, after)
			}
		})
	}
}

// A field of another field manager is no reason to plan again: the error names the field.
func TestAFieldOfAnotherManagerIsNoChangeSinceThePlan(t *testing.T) {
	server := apitest.Shared(t)
	cluster, err := preview.Open(server.Config, "ons")
	if err != nil {
		t.Fatal(err)
	}
	n := &operatorv1.Network{}
	if err := yaml.Unmarshal([]byte(inUse), n); err != nil {
		t.Fatal(err)
	}
	desired, err := runtime.DefaultUnstructuredConverter.ToUnstructured(n)
	if err != nil {
		t.Fatal(err)
	}
	n.Spec.LogLevel = osv1.Debug
	server.Create(t, n)
	if err := unstructured.SetNestedField(desired, "Trace", "spec", "logLevel"); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.SubmitPlanned(t.Context(), desired, "", false, n.Generation); err == nil || errors.Is(err, preview.ErrChanged) ||
		!strings.Contains(err.Error(), ".spec.logLevel") || !strings.Contains(err.Error(), "--force-conflicts") {
		t.Errorf("without force: %v", err)
	}
	if _, err := cluster.SubmitPlanned(t.Context(), desired, "", true, n.Generation); err != nil {
		t.Errorf("with force: %v", err)
	}
}

// generation is that of the Network; 0 if it does not exist.
func generation(t *testing.T, server *apitest.Server) int64 {
	t.Helper()
	var n operatorv1.Network
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, &n); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return n.Generation
}
