package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }

func TestNewSetsOnlyGivenFields(t *testing.T) {
	for _, tc := range []struct {
		why  string
		obj  Typed
		want string
	}{
		{"structs held by value are omitted when empty; a pointer to an empty struct does", &appsv1.DaemonSet{
			ObjectMeta: meta("x"),
			Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", SecurityContext: &corev1.SecurityContext{}}},
				Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}}},
		}, `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: x, namespace: ns}
spec:
  template:
    spec:
      containers: [{name: c, securityContext: {}}]
      volumes: [{name: v, emptyDir: {}}]`},
		{"the empty selector selects everything, and an empty rule allows everything", &networkingv1.NetworkPolicy{
			ObjectMeta: meta("x"),
			Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{
				{}, {From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}}}},
		}, `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: x, namespace: ns}
spec: {podSelector: {}, ingress: [{}, {from: [{namespaceSelector: {}}]}]}`},
		{"a list that must be there in Go is null when unset", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: x}`},
		{"nothing that only the server sets", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
			Name: "x", UID: "u", ResourceVersion: "1", Generation: 3, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
			CreationTimestamp: metav1.Unix(1, 0)}}, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: x}`},
		{"a port that may be unset is not port 0", &corev1.Service{ObjectMeta: meta("x"),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, `
apiVersion: v1
kind: Service
metadata: {name: x, namespace: ns}
spec: {ports: [{port: 80}]}`},
		{"values with custom JSON encoding stay, and so do entries of maps", &corev1.ResourceQuota{ObjectMeta: meta("x"),
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse("0")}}}, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: x, namespace: ns}
spec: {hard: {cpu: "0"}}`},
		{"in a CRD, the empty status subresource is set, the status of the CRD itself is not", &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "x"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"status": {}}}}}}},
		}, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x}
spec:
  group: ""
  scope: ""
  names: {kind: "", plural: ""}
  versions: [{name: v1, served: false, storage: false, subresources: {status: {}}, schema: {openAPIV3Schema: {properties: {status: {}}}}}]`},
	} {
		t.Run(tc.why, func(t *testing.T) {
			before := tc.obj.DeepCopyObject()
			got, err := New(tc.obj, Policy{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := Decode[unstructured.Unstructured](file(tc.want), "a.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Object, got.Object.Object); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.obj.DeepCopyObject()); diff != "" {
				t.Errorf("New changed its argument:\n%s", diff)
			}
		})
	}
}

func TestNewOfUnstructuredKeepsWhatIsWritten(t *testing.T) {
	in := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "x", "creationTimestamp": nil},
		"spec":   map[string]any{"empty": map[string]any{}, "null": nil, "list": []any{map[string]any{"null": nil}}},
		"status": map[string]any{"a": "b"},
	}}
	got, err := New(in, Policy{CreateOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"empty": map[string]any{}, "list": []any{map[string]any{}}}}
	if diff := cmp.Diff(want, got.Object.Object); diff != "" || !got.Policy.CreateOnly {
		t.Errorf("-want +got\n%s", diff)
	}
	if in.Object["status"] == nil {
		t.Error("New changed its argument")
	}
}

func TestNewNormalizesValuesLikeTheServer(t *testing.T) {
	written, err := Decode[unstructured.Unstructured](file(`
apiVersion: v1
kind: Secret
metadata: {name: x, labels: {}}
data: {a: MQ==}
stringData: {b: "1"}
immutable: null
`), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := New(written, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"a": "MQ==", "b": "MQ=="}}
	if diff := cmp.Diff(want, got.Object.Object); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	written.Object["dat"] = "typo"
	if _, err := New(written, Policy{}); !strings.Contains(errText(err), "dat") {
		t.Errorf("a field that the kind has not: error %v", err)
	}
}

func TestNewRefusesInvalidObjects(t *testing.T) {
	for want, obj := range map[string]Typed{
		"no name":                         &corev1.ConfigMap{},
		"generateName":                    &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}},
		"apiVersion and kind must be set": &unstructured.Unstructured{Object: map[string]any{}},
		`kind "Secret" is not a ConfigMap`: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta("x")},
		"not a type of the scheme": &stranger{},
	} {
		if _, err := New(obj, Policy{}); !strings.Contains(errText(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// stranger is a Go type that no scheme knows.
type stranger struct{ corev1.ConfigMap }
