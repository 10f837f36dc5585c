package admission

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks/randomedittest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// installed are the objects of config/default that no policy is about; kustomize makes the ConfigMap.
func installed(t *testing.T) []client.Object {
	t.Helper()
	all := []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-network-operator", Name: "network-operator-images-abc"}}}
	var later []client.Object
	for _, directory := range []string{"operator", "rbac"} {
		files, err := filepath.Glob("../../config/" + directory + "/*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			objects, err := manifest.DecodeAll(os.DirFS(filepath.Dir(file)), filepath.Base(file))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				switch o := o.(type) {
				case *corev1.Namespace:
					all = append([]client.Object{o}, all...)
				case *admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding:
				case client.Object:
					later = append(later, o)
				}
			}
		}
	}
	return append(all, later...)
}

// TestDeletingTheInstallationIsRefused: kubectl delete -k config/default is refused for each object.
func TestDeletingTheInstallationIsRefused(t *testing.T) {
	objects := installed(t)
	for _, o := range objects { // they stay until the server ends: no namespace ever ends here
		if err := apitest.Shared(t).Client.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	own, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	d := newServer(t, inUse())
	for _, c := range own {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}
		if err := d.Client.Delete(t.Context(), definition, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "run: cno uninstall") {
			t.Errorf("definition %s: %v", c.Name, err)
		}
	}
	allow := []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, AllowDeletion))
	for _, o := range objects {
		err := d.Client.Delete(t.Context(), o, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), o.GetName()+": must not be deleted") || !strings.Contains(err.Error(), "run: cno uninstall") {
			t.Errorf("%T %s: %v", o, o.GetName(), err)
		}
		if err := d.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, allow)); err != nil {
			t.Fatal(err)
		}
		if err := d.Client.Delete(t.Context(), o, client.DryRunAll); err != nil {
			t.Errorf("%T %s with the annotation: %v", o, o.GetName(), err)
		}
	}
}

// TestADeletionByCollectionIsRefused: such a request names no object.
func TestADeletionByCollectionIsRefused(t *testing.T) {
	d := newServer(t, inUse())
	for _, o := range []client.Object{&operatorv1.Network{}, &apiextensionsv1.CustomResourceDefinition{}} {
		if err := d.Client.DeleteAllOf(t.Context(), o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "(deletion-in-use)") {
			t.Errorf("all %T: %v", o, err)
		}
	}
}

// TestOtherClientsMayDeleteTheirOwnObjects: objects of the same resources that no network depends on, and what Kubernetes itself deletes.
func TestOtherClientsMayDeleteTheirOwnObjects(t *testing.T) {
	d := newServer(t, inUse())
	own := d.Namespace(t)
	foreign := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "cluster-network-operator"}}
	d.Create(t, foreign)
	if err := d.Client.Delete(t.Context(), foreign, client.DryRunAll); err != nil {
		t.Errorf("of the same name in another namespace: %v", err)
	}
	collector, err := d.ClientFor(d.User(t, "system:serviceaccount:kube-system:namespace-controller", "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	if err := collector.Delete(t.Context(), d.network, client.DryRunAll); err != nil {
		t.Errorf("the namespace controller is refused: %v", err)
	}
}

// TestANetworkDoesNotLoseItsSpecification: what a specification omits keeps its applied value; a missing specification is a mistake.
func TestANetworkDoesNotLoseItsSpecification(t *testing.T) {
	d := newServer(t, inUse())
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": d.network.Name, "resourceVersion": d.network.ResourceVersion}}}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	for _, row := range []struct {
		why     string
		spec    any
		refused string // empty if it is allowed
	}{
		{"no spec", nil, "spec: Invalid value: is required; write spec: {}"},
		{"an empty spec", map[string]any{}, ""},
		{"an empty list of pools", map[string]any{"clusterNetwork": []any{}}, ""},
		{"another Service CIDR, and nothing else", map[string]any{"serviceNetwork": []any{"10.97.0.0/16"}}, "(service-network-change)"},
	} {
		delete(u.Object, "spec")
		if row.spec != nil {
			u.Object["spec"] = row.spec
		}
		err := d.Client.Update(t.Context(), u.DeepCopy(), client.DryRunAll)
		if (err == nil) != (row.refused == "") || err != nil && !strings.Contains(err.Error(), row.refused) {
			t.Errorf("%s: %v, want %q", row.why, err, row.refused)
		}
	}
}

// TestOnlyAHashAcknowledges: a word is no acknowledgement.
func TestOnlyAHashAcknowledges(t *testing.T) {
	d := newServer(t, inUse())
	vxlan := func(s *operatorv1.NetworkSpec) { randomedittest.Flannel(s).Backend = "vxlan" }
	for _, word := range []string{"nonsense", "true", strings.Repeat("0", 31), strings.Repeat("g", 32)} {
		if err := d.edit(vxlan, word); err == nil || !strings.Contains(err.Error(), pipeline.AcknowledgeAnnotation) {
			t.Errorf("%q: %v", word, err)
		}
	}
}
