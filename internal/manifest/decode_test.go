package manifest

import (
	"strings"
	"testing"
	"testing/fstest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Every controller-runtime object can become a manifest.
var _ Typed = client.Object(nil)

func file(content string) fstest.MapFS {
	return fstest.MapFS{"a.yaml": {Data: []byte(content)}}
}

func TestDecodeIsStrict(t *testing.T) {
	const good = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: x}\n"
	for _, tc := range []struct{ name, content, want string }{
		{"a good file", good, ""},
		{"separators and comments around the document are no documents", "---\n# nothing\n---\n" + good + "---\n", ""},
		{"a typo", good + "spec: {templat: {}}\n", `unknown field "spec.templat"`},
		{"other case: the API server would refuse it", good + "Spec: {}\n", `unknown field "Spec"`},
		{"twice the same key", good + "spec: {}\nspec: {}\n", "already set"},
		{"another kind", strings.Replace(good, "DaemonSet", "Deployment", 1), `kind "Deployment" is not a DaemonSet of apps/v1`},
		{"another version", strings.Replace(good, "apps/v1", "apps/v1beta1", 1), `apiVersion "apps/v1beta1"`},
		{"no kind", "metadata: {name: x}\n", "apiVersion and kind must be set"},
		{"two documents", good + "---\n" + good, "want one YAML document, got 2"},
		{"an empty file", "", "got 0"},
		{"a wrong type", good + "spec: {minReadySeconds: soon}\n", "minReadySeconds"},
		{"no YAML", "a: [", "a.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode[appsv1.DaemonSet](file(tc.content), "a.yaml")
			if got := errText(err); (tc.want == "") != (err == nil) || !strings.Contains(got, tc.want) {
				t.Errorf("error %q, want %q in it", got, tc.want)
			}
			if err != nil && !strings.Contains(err.Error(), "a.yaml") {
				t.Errorf("error %q does not name the file", err)
			}
		})
	}
}

func TestDecodeOfNoKubernetesTypeIsAnError(t *testing.T) {
	if _, err := Decode[struct{ A string }](file("a: b"), "a.yaml"); err == nil {
		t.Error("no error")
	}
	if _, err := Decode[appsv1.DaemonSet](file(""), "missing.yaml"); err == nil {
		t.Error("no error for a missing file")
	}
}

func TestDecodeUnknownKindsUnstructured(t *testing.T) {
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: x}\nspec: {any: thing}\n"
	got, err := Decode[unstructured.Unstructured](file(monitor), "a.yaml")
	if err != nil || got.GetKind() != "ServiceMonitor" {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestDecodeAllGivesEachDocumentItsType(t *testing.T) {
	objs, err := DecodeAll(file(`
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: example.com/v1
kind: Foo
metadata: {name: b}
spec: {n: 1}
`), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := objs[0].(*corev1.Namespace); !ok {
		t.Errorf("first document is a %T", objs[0])
	}
	if _, ok := objs[1].(*unstructured.Unstructured); !ok {
		t.Errorf("second document is a %T", objs[1])
	}
}

func TestDecodeAllNamesTheInvalidDocument(t *testing.T) {
	for content, want := range map[string]string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\nkind: Foo\n": "document 2: apiVersion and kind must be set",
		"apiVersion: v1\nkind: Foo\n":                                            `document 1: apiVersion "v1" has no kind "Foo"`,
		"apiVersion: v1\nkind: Namespace\nspc: 1\n":                              "unknown field",
		"apiVersion: v1\nkind: DeleteOptions\n":                                  "not an object that can be applied",
	} {
		if _, err := DecodeAll(file(content), "a.yaml"); !strings.Contains(errText(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
