package doctor

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
)

func TestDirectoryHasTheLayoutOfMustGather(t *testing.T) {
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "namespace": "n"}}
	found := &collected{
		objects: map[string][]map[string]any{
			"n/pods":                         {pod},
			"n/daemonsets":                   {{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": map[string]any{"name": "d", "namespace": "n"}}},
			"nodes.":                         {{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "w"}}},
			"networks.operator.openshift.io": {{"apiVersion": "operator.openshift.io/v1", "kind": "Network", "metadata": map[string]any{"name": "cluster"}}},
			"egressrouters.network.operator.openshift.io": {
				{"apiVersion": "network.operator.openshift.io/v1", "kind": "EgressRouter", "metadata": map[string]any{"name": "e", "namespace": "tenant"}},
				{"apiVersion": "network.operator.openshift.io/v1", "kind": "EgressRouter", "metadata": map[string]any{"name": "../../etc/passwd", "namespace": "tenant"}},
				{"apiVersion": "network.operator.openshift.io/v1", "kind": "EgressRouter", "metadata": map[string]any{"name": "e", "namespace": ".."}},
			},
		},
		logs: map[string][]byte{"logs/n/a/c.log": []byte("now"), "logs/n/a/c.previous.log": []byte("before")},
	}
	files, err := found.directory(Report{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"version": "cluster-network-operator\nv", "report.txt": "No problems found.", "report.json": `"findings"`,
		"namespaces/n/core/pods.yaml": "kind: List", "namespaces/n/pods/a/a.yaml": "kind: Pod", "namespaces/n/apps/daemonsets.yaml": "kind: DaemonSet",
		"namespaces/n/pods/a/c/c/logs/current.log": "now", "namespaces/n/pods/a/c/c/logs/previous.log": "before",
		"cluster-scoped-resources/core/nodes/w.yaml":                           "kind: Node",
		"cluster-scoped-resources/operator.openshift.io/networks/cluster.yaml": "kind: Network",
		"namespaces/tenant/network.operator.openshift.io/egressrouters.yaml":   "name: e",
	} {
		if !strings.Contains(string(files[path]), want) {
			t.Errorf("%s has %q", path, files[path])
		}
		delete(files, path)
	}
	for path := range files {
		t.Errorf("%s is not of must-gather", path)
	}
}

func TestDirectoryOfACluster(t *testing.T) {
	server := apitest.Shared(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-host-network"}}
	if err := server.Client.Create(t.Context(), namespace); err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
	planted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "gathered", Namespace: namespace.Name}, Data: map[string]string{"key": canaries()["pem"]},
	}
	if err := server.Client.Create(t.Context(), planted); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "must-gather")
	var out strings.Builder
	cmd := New(networks.Registry(), time.Now)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--kubeconfig", server.Kubeconfig, "--directory", dir})
	if status := exit.Report(&out, "cno", cmd.ExecuteContext(t.Context())); status > exit.Refused {
		t.Fatal(out.String())
	}
	if !strings.Contains(out.String(), "Everything that was collected is in "+dir) {
		t.Errorf("the directory is not named: %s", &out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "namespaces", namespace.Name, "core", "configmaps.yaml"))
	if err != nil || !strings.Contains(string(content), "name: gathered") {
		t.Errorf("the ConfigMap is missing: %v", err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if leaks := leaked(string(content)); len(leaks) > 0 {
			t.Errorf("%s: %v", path, leaks)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGather runs the program of the image must-gather: problems of the network are no failure of the collection.
func TestGather(t *testing.T) {
	for status, want := range map[string]int{"0": 0, "1": 0, "2": 2, "3": 3} {
		dir := t.TempDir()
		program := filepath.Join(dir, "cno")
		script := "#!/bin/bash\necho \"$@\" > \"" + dir + "/arguments\"\nexit " + status + "\n"
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "../../../images/must-gather/gather")
		cmd.Env = append(os.Environ(), "CNO="+program)
		_ = cmd.Run() // the exit status is what is tested
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("when cno ends with %s, gather ends with %d", status, got)
		}
		arguments, err := os.ReadFile(filepath.Join(dir, "arguments"))
		if err != nil || string(arguments) != "doctor --directory /must-gather --timeout 5m\n" {
			t.Errorf("cno is called with %q, %v", arguments, err)
		}
	}
}
