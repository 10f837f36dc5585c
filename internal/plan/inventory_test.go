package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

func TestInventoryRoundTrip(t *testing.T) {
	inventory := newInventory([]Entry{
		{Key: manifest.Key{Group: "apps", Kind: "DaemonSet", Namespace: "n", Name: "d"}, Version: "v1", Component: "Flannel", UID: "u"},
		{Key: manifest.Key{Kind: "Namespace", Name: "n"}, Version: "v1", Adopted: true},
		{Key: manifest.Key{Kind: "Namespace", Name: "n"}, Version: "v1", UID: "later"},
	})
	if len(inventory) != 2 || inventory[0].UID != "later" {
		t.Errorf("not sorted, or a key appears twice: %v", inventory)
	}
	back, err := DecodeInventory(inventory.Data())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inventory, back); diff != "" {
		t.Error(diff)
	}
	if empty, err := DecodeInventory(Inventory(nil).Data()); err != nil || empty != nil {
		t.Errorf("got %v, %v", empty, err)
	}
}

func TestUnreadableInventoryIsNotEmpty(t *testing.T) {
	for _, data := range []map[string]string{
		nil, {"objects.v2": ""}, {inventoryField: "x"}, {inventoryField: `["a"]`}, {inventoryField: `["apps","","DaemonSet","n","d","","",""]`}, {inventoryField: "\n"},
	} {
		if _, err := DecodeInventory(data); !errors.Is(err, ErrInventory) {
			t.Errorf("%v: error %v", data, err)
		}
	}
}

func TestFiveThousandObjectsFitInAConfigMap(t *testing.T) {
	var inventory Inventory
	for i := range 5000 {
		inventory = append(inventory, Entry{Key: manifest.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Namespace: "openshift-flannel", Name: fmt.Sprint("object-with-a-name-", i)},
			Version: "v1", UID: "01234567-89ab-cdef-0123-456789abcdef", Component: "Flannel"})
	}
	if size := len(inventory.Data()[inventoryField]); size > 1<<20 {
		t.Errorf("%d bytes", size)
	}
}

func TestRolledOut(t *testing.T) {
	for _, tc := range []struct{ why, text, want string }{
		{"what is no workload has nothing to roll out", configMap, ""},
		{"a DaemonSet no one has looked at", "{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: d, generation: 1}}", "DaemonSet d: its latest change was not noticed yet"},
		{"old pods", "{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: d}, status: {desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2}}",
			"DaemonSet d: 1 of 2 pods are up to date"},
		{"a Deployment has one replica by default", "{kind: Deployment, apiVersion: apps/v1, metadata: {name: d}, spec: {}, status: {}}", "Deployment d: 0 of 1 pods are up to date"},
		{"unavailable pods", "{kind: Deployment, apiVersion: apps/v1, metadata: {name: d}, spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 1}}",
			"Deployment d: 1 of 2 pods are available"},
		{"all is well", "{kind: Deployment, apiVersion: apps/v1, metadata: {name: d, generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2}}", ""},
		{"no nodes, no pods", "{kind: DaemonSet, apiVersion: apps/v1, metadata: {name: d, generation: 1}, status: {observedGeneration: 1}}", ""},
	} {
		u := &unstructured.Unstructured{}
		text, err := yaml.YAMLToJSON([]byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := u.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		if ok, got := RolledOut(u); got != tc.want || ok != (tc.want == "") {
			t.Errorf("%s: got %t, %q", tc.why, ok, got)
		}
	}
}
