package hostprogram

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
)

func units(text string) fstest.MapFS {
	return fstest.MapFS{"host-network.service": {Data: []byte(text + "\n[Install]\nWantedBy=a.target\n")}, "host-network.conf": {Data: []byte("[connection]\n")}}
}

func made(t *testing.T, image, text string) *unstructured.Unstructured {
	t.Helper()
	o, err := MachineConfig("worker", image, units(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func restarting(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	sum, err := Restarting(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestOnlyTheImageChangesWithoutARestart: everything else than the one file is what the machine-config operator restarts nodes for.
func TestOnlyTheImageChangesWithoutARestart(t *testing.T) {
	old := made(t, "quay.io/cno/host-network@sha256:01", "[Unit]")
	for why, row := range map[string]struct {
		next *unstructured.Unstructured
		same bool
	}{
		"the same":           {made(t, "quay.io/cno/host-network@sha256:01", "[Unit]"), true},
		"another image":      {made(t, "quay.io/cno/host-network@sha256:02", "[Unit]"), true},
		"another unit":       {made(t, "quay.io/cno/host-network@sha256:01", "[Unit]\nAfter=b.service"), false},
		"image and unit too": {made(t, "quay.io/cno/host-network@sha256:02", "[Unit]\nAfter=b.service"), false},
	} {
		if same := restarting(t, old) == restarting(t, row.next); same != row.same {
			t.Errorf("%s: the digests are equal: %v", why, same)
		}
	}
}

func TestAnExistingObjectKeepsItsUnits(t *testing.T) {
	old := made(t, "a@sha256:01", "[Unit]")
	// As the API server returns it.
	text, err := json.Marshal(old.Object)
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string]any
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	got, err := WithImage("worker", "a@sha256:02", stored)
	if err != nil {
		t.Fatal(err)
	}
	want := made(t, "a@sha256:02", "[Unit]")
	a, _ := json.Marshal(got.Object)
	b, _ := json.Marshal(want.Object)
	if d := cmp.Diff(string(b), string(a)); d != "" {
		t.Error(d)
	}
	if got, err = WithImage("worker", "", stored); err != nil || restarting(t, got) != restarting(t, old) {
		t.Errorf("without an image: %v", err)
	}
	var config mcfgv1.MachineConfig
	if err := json.Unmarshal(a, &config); err != nil {
		t.Fatal(err)
	}
	// The file with the image lies among the documents, and is none.
	if roles, err := machineconfig.Unpack([]mcfgv1.MachineConfig{config}); err != nil || len(roles["worker"]) > 0 {
		t.Errorf("documents are %v, %v", roles, err)
	}
}

func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	for _, image := range []string{"", "a b", "a\nb", "$(x)", "-v"} {
		if _, err := MachineConfig("worker", image, units("")); err == nil || !strings.Contains(err.Error(), "is not the name of an image") {
			t.Errorf("image %q: %v", image, err)
		}
	}
	for why, existing := range map[string]map[string]any{
		"no spec":             {},
		"a config of no kind": {"spec": map[string]any{"config": "text"}},
	} {
		if _, err := WithImage("worker", "a", existing); err == nil {
			t.Errorf("%s is taken", why)
		}
	}
	if role, ok := RoleOf(Name("worker")); !ok || role != "worker" {
		t.Errorf("the role of %s is %q", Name("worker"), role)
	}
	if _, ok := RoleOf("10-br-ex-worker"); ok {
		t.Error("another object has a role")
	}
}
