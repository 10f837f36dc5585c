package ui

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/testing/browser"
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
		{"a file for another page", []string{"nodes", "--file", damaged}, "--file is for the page hosts"},
		{"no file", []string{"--file", "/nowhere"}, "read configuration"},
		{"a file and an archive", []string{"--file", damaged, "--archive", damaged}, "none of the others can be"},
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

// A file with configuration of hosts is drawn where there is no cluster yet.
func TestAFileOfHostsNeedsNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	type drawing struct {
		Draft struct {
			Problems  []string
			Errors    bool
			Documents []struct {
				File       string
				Interfaces []struct{ Name string }
			}
		}
	}
	draw := func(name, text string) (d drawing) {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, out, stderr := run(t, "--file", file, "-o", "json")
		if err := json.Unmarshal([]byte(out), &d); err != nil || status != exit.OK {
			t.Fatalf("status %d, %v: %s%s", status, err, out, stderr)
		}
		return d
	}
	sample, err := os.ReadFile("../../../config/samples/hostnetworkconfig-bond-vlan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if d := draw("hosts.yaml", string(sample)); d.Draft.Errors || len(d.Draft.Documents) != 2 || d.Draft.Documents[1].File != "storage-0.yml" || len(d.Draft.Documents[1].Interfaces) < 5 {
		t.Errorf("the sample is drawn as %+v", d)
	}
	const two = "hosts.yaml:5: spec.bridge.mtu"
	d := draw("hosts.yaml", "apiVersion: network.operator.openshift.io/v1\nkind: HostNetworkConfig\nmetadata: {name: w}\nspec:\n  bridge: {mtu: 70000, uplink: {interface: eno1}}\n  roll: x\n")
	if !d.Draft.Errors || !strings.Contains(strings.Join(d.Draft.Problems, "\n"), two) || len(d.Draft.Problems) < 2 || len(d.Draft.Documents) > 0 {
		t.Errorf("an object with several errors is drawn as %+v", d)
	}
	if d := draw("pod.yaml", "apiVersion: v1\nkind: Pod\n"); !d.Draft.Errors || len(d.Draft.Problems) != 1 {
		t.Errorf("another object is drawn as %+v", d)
	}
	if d := draw("worker-0.yml", "capture: {default-gw: routes.running.destination=\"0.0.0.0/0\"}\ndesiredState: {interfaces: [{name: br-ex, type: ovs-bridge}]}\n"); len(d.Draft.Documents) > 0 || len(d.Draft.Problems) == 0 {
		t.Errorf("a document with captures is drawn as %+v", d)
	}
}

func TestTheFileIsTheOnlyPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worker-0.yml")
	if err := os.WriteFile(file, []byte("interfaces: [{name: eno1, type: ethernet, mtu: 9000}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, token := serve(t, "--file", file)
	b := browser.Start(t)
	b.Open(address + "/hosts?token=" + token)
	b.Wait("its picture", `document.querySelectorAll(".picture rect").length === 1 && document.getElementById("text").value.includes("9000")`)
	b.Wait("no page of a cluster", `document.querySelectorAll("nav a").length === 1 && document.body.innerText.includes("file worker-0.yml")`)
}
