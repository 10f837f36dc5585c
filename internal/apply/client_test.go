package apply_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/apply/applytest"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// TestFakeBehavesLikeTheServer takes both clients through the same steps.
func TestFakeBehavesLikeTheServer(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		c := newCluster(t)
		clientContract(t, c, c.Client, func(o *unstructured.Unstructured) { c.as(o) })
	})
	t.Run("fake", func(t *testing.T) {
		fake := applytest.NewFake()
		clientContract(t, &cluster{TB: t, name: "fake"}, fake, func(o *unstructured.Unstructured) {
			live, _ := fake.Live(manifest.KeyOf(o))
			live.SetAnnotations(o.GetAnnotations())
			fake.Put(live)
		})
	})
}

func clientContract(t *testing.T, c *cluster, client apply.Client, annotate func(*unstructured.Unstructured)) {
	namespace := c.objects("{apiVersion: v1, kind: Namespace, metadata: {name: NAME}}")[0].Object
	config := c.objects(`{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: NAME}, data: {a: "1", b: "2"}}`)[0].Object
	at := ref(manifest.KeyOf(config), "v1")

	if _, err := client.Apply(t.Context(), config); !apierrors.IsNotFound(err) {
		t.Errorf("apply without its namespace: %v", err)
	}
	if _, err := client.Get(t.Context(), at); !apierrors.IsNotFound(err) {
		t.Errorf("get before it exists: %v", err)
	}
	mustApply(t, client, namespace)
	created := mustApply(t, client, config)
	if created.GetUID() == "" || created.GetResourceVersion() == "" {
		t.Errorf("created %v", created)
	}
	if again := mustApply(t, client, config); again.GetResourceVersion() != created.GetResourceVersion() {
		t.Error("applying an unchanged object has changed it")
	}

	foreign := config.DeepCopy()
	foreign.SetAnnotations(map[string]string{"theirs": "x"})
	annotate(foreign)
	delete(config.Object["data"].(map[string]any), "b")
	changed := mustApply(t, client, config)
	data, _, _ := unstructured.NestedStringMap(changed.Object, "data")
	if changed.GetAnnotations()["theirs"] != "x" || changed.GetUID() != created.GetUID() || data["a"] != "1" {
		t.Errorf("changed to %v", changed)
	}
	replaceContract(t, client, at, created)
	deleteContract(t, client, at, changed)
}

func mustApply(t *testing.T, client apply.Client, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live, err := client.Apply(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return live
}

func replaceContract(t *testing.T, client apply.Client, at apply.Ref, old *unstructured.Unstructured) {
	t.Helper()
	if err := client.Replace(t.Context(), old); !apierrors.IsConflict(err) {
		t.Errorf("replace of an old version: %v", err)
	}
	live, err := client.Get(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	live.Object["data"] = map[string]any{"c": "3"}
	if err := client.Replace(t.Context(), live); err != nil {
		t.Errorf("replace: %v", err)
	}
}

func deleteContract(t *testing.T, client apply.Client, at apply.Ref, live *unstructured.Unstructured) {
	t.Helper()
	if err := client.Delete(t.Context(), at, "another", metav1.DeletePropagationBackground); !apierrors.IsConflict(err) {
		t.Errorf("delete of another UID: %v", err)
	}
	if err := client.Delete(t.Context(), at, live.GetUID(), metav1.DeletePropagationBackground); err != nil {
		t.Errorf("delete: %v", err)
	}
	err := client.Delete(t.Context(), at, live.GetUID(), metav1.DeletePropagationBackground)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "config") {
		t.Errorf("second delete: %v", err)
	}
}
