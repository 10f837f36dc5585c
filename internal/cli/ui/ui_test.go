package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	served "github.com/cluster-network-operator/cno/internal/ui"
)

// Each error is reported in one sentence, and nothing is served.
func TestErrorsAreOneSentence(t *testing.T) {
	w := newWorld(t, 2)
	damaged := filepath.Join(t.TempDir(), "a.tar.gz")
	if err := os.WriteFile(damaged, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	without := w.kubeconfig(w.server.User(t, "without-permissions"))
	for _, row := range []struct {
		why     string
		args    []string
		message string
	}{
		{"a user without permissions", []string{"--kubeconfig", without}, "this user has no permission to get, list and watch networks.operator.openshift.io"},
		{"no kubeconfig", []string{"--kubeconfig", "/nowhere"}, "read kubeconfig"},
		{"a page that does not exist", []string{"--kubeconfig", w.server.Kubeconfig, "nothing"}, `there is no page "nothing"; the pages are overview, nodes`},
		{"an object of a page that has none", []string{"--kubeconfig", w.server.Kubeconfig, "paths/x"}, `there is no page "paths/x"`},
		{"a node that does not exist", []string{"--kubeconfig", w.server.Kubeconfig, "nodes/gone", "-o", "json"}, `there is no node "gone"`},
		{"no archive", []string{"--archive", "/nowhere"}, "read archive"},
		{"a damaged archive", []string{"--archive", damaged}, "this is not a complete archive of cno doctor"},
		{"a port that is none", []string{"--port", "65536"}, "--port"},
		{"an unknown flag", []string{"--listen", "0.0.0.0"}, "unknown flag"},
	} {
		status, out, stderr := run(t, row.args...)
		if status != exit.Unusable || out != "" || !strings.Contains(stderr, row.message) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d\n%s%s", row.why, status, out, stderr)
		}
	}
}

func TestPageIsPrintedAsJSON(t *testing.T) {
	w := newWorld(t, 2)
	for _, name := range served.Pages() {
		status, out, stderr := run(t, name, "-o", "json", "--kubeconfig", w.server.Kubeconfig)
		if status != exit.OK || !strings.HasPrefix(out, "{\n") {
			t.Errorf("%s: status %d: %s%s", name, status, out, stderr)
		}
	}
	status, out, stderr := run(t, "nodes", "-o", "json", "--kubeconfig", w.server.Kubeconfig)
	var doc struct {
		Nodes []struct {
			Name   string
			Blocks []string
			MTU    int
		}
		Pools []struct{ Used int }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || status != exit.OK {
		t.Fatalf("status %d, %v: %s%s", status, err, out, stderr)
	}
	if len(doc.Nodes) != 5 || doc.Nodes[4].Name != "worker-1" || len(doc.Nodes[4].Blocks) != 1 || doc.Nodes[4].Blocks[0] != "10.244.4.0/24" || doc.Nodes[4].MTU != 1500 || doc.Pools[0].Used != 5 {
		t.Errorf("%+v", doc)
	}
}

// A user with few permissions sees what they allow, and the pages name what is missing.
func TestForbiddenObjectsAreNamed(t *testing.T) {
	w := newWorld(t, 2)
	few := w.user("few", "operator.openshift.io", "networks")
	status, out, stderr := run(t, "overview", "-o", "json", "--kubeconfig", few)
	var doc struct {
		Status  struct{ State string }
		Missing []string
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || status != exit.OK {
		t.Fatalf("status %d, %v: %s%s", status, err, out, stderr)
	}
	for _, resource := range []string{"nodes", "pods", "configmaps", "daemonsets.apps"} {
		if !strings.Contains(strings.Join(doc.Missing, "\n"), "no permission to list and watch "+resource+":") {
			t.Errorf("%s is not named in %q", resource, doc.Missing)
		}
	}
	if doc.Status.State != "unknown" {
		t.Errorf("the state is %s, although the operator cannot be observed", doc.Status.State)
	}
}
