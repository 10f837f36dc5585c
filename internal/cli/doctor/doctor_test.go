package doctor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{Audit: true}) }

// call runs the command against the test's API server, and returns the report, what the archive holds by file, and the
// exit status.
func call(t *testing.T, args ...string) (string, map[string]string, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	var out strings.Builder
	cmd := New(networks.Registry(), time.Now)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", apitest.Shared(t).Kubeconfig, "--archive", file))
	status := exit.Report(&out, "cno", cmd.ExecuteContext(t.Context()))
	info, err := os.Stat(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the archive is readable by all users: %v", info.Mode())
	}
	return out.String(), unpack(t, file), status
}

func unpack(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, Directory)] = string(content)
	}
}

// The canaries are made up here, so that no file holds what looks like a key.
func canaries() map[string]string {
	pem := "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEcanaryPEMcanary\n-----END " + "RSA PRIVATE KEY-----"
	return map[string]string{
		"env": "password=canary01", "yaml": "token: canary02", "json": `{"clientSecret":"canary03"}`, "url": "http://user:canary04@proxy:3128",
		"bearer": "Authorization: Bearer canary05abc", "kubeconfig": "users:\n- name: a\n  user:\n    token: canary06\n    client-key-data: Y2FuYXJ5MDc=", "pem": pem,
	}
}

// leaked are the canaries that are in a text.
func leaked(text string) []string {
	var found []string
	for _, mark := range []string{"canary", "Y2FuYXJ5", "hunter2"} {
		if i := strings.Index(text, mark); i >= 0 {
			found = append(found, text[max(0, i-60):min(len(text), i+20)])
		}
	}
	return found
}

func TestNoPlantedSecretIsInTheArchive(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, StringData: canaries()}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "settings", Annotations: canaries()}, Data: canaries()}
	pod := plain(ns, "p")
	pod.Annotations = canaries()
	for key, value := range canaries() {
		pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, value)
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: strings.ToUpper(key), Value: value})
	}
	pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: "DB_PASSWORD", Value: "hunter2"})
	for _, o := range []client.Object{secret, cm, pod} {
		server.Create(t, o)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 2, Image: "i", ImageID: "i",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "last line: password=canary09"}}}}}
	if err := server.Client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	c := withLogs(t, ns, func() string { return strings.Join(values(canaries()), "\n") + "\nlevel=info msg=\"all is well\"\n" })
	found, err := c.collect(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	o := options{file: file}
	if err := o.write(found, Report{Findings: evaluate(found, ns, time.Now().Add(time.Hour)), Missing: found.missing}); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, file)
	logs, objects := 0, 0
	for name, content := range files {
		if leaks := leaked(content); len(leaks) > 0 {
			t.Errorf("%s holds %q", name, leaks)
		}
		if strings.HasPrefix(name, "logs/") && strings.Contains(content, "all is well") {
			logs++
		}
		objects += strings.Count(content, `"name":"settings"`)
	}
	if logs != 2 || objects != 1 {
		t.Errorf("there are %d logs and %d objects, want 2 and 1: %v", logs, objects, found.missing)
	}
	if !strings.Contains(files["report.txt"], "CrashLoopBackOff") || !strings.Contains(files["report.txt"], ".previous.log") {
		t.Errorf("the report is\n%s", files["report.txt"])
	}
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func plain(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// withLogs is a collector whose API server answers for logs, although there is no kubelet.
func withLogs(t *testing.T, namespace string, text func() string) *collector {
	t.Helper()
	config := rest.CopyConfig(apitest.Shared(t).Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/log") {
				return next.RoundTrip(r)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text())), Request: r}, nil
		})
	})
	c, err := open(config, namespace, networks.Registry(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDoctorOnlyReads(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	server.Create(t, plain(ns, "p"))
	user := server.User(t, "doctor", "system:masters")
	c, err := open(user, ns, networks.Registry(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.collect(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, r := range server.Requests(t) {
		if r.User.Username != "doctor" {
			continue
		}
		dryRun := r.Verb == "patch" && strings.Contains(r.URI, "dryRun=All")
		if seen++; r.Verb != "get" && r.Verb != "list" && !dryRun || strings.Contains(r.URI, "secrets") {
			t.Errorf("it asks to %s %s", r.Verb, r.URI)
		}
	}
	if seen == 0 {
		t.Error("the audit log is empty")
	}
	if err := c.typed.CoreV1.Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "only reads") {
		t.Errorf("it could write: %v", err)
	}
	if _, err := c.typed.CoreV1.Secrets(ns).List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "not read") {
		t.Errorf("it could read Secrets: %v", err)
	}
}

func TestFindingsAreSortedBySeverity(t *testing.T) {
	ns := apitest.Shared(t).Namespace(t)
	deployed(t, apitest.Shared(t), ns, 1)
	out, files, status := call(t, "-n", ns, "-o", "json")
	var r Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != exit.Refused {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	if len(r.Findings) == 0 || r.Findings[0].Severity != Critical || !strings.Contains(r.Findings[0].What, "Network.operator.openshift.io/cluster does not exist") {
		t.Errorf("%+v", r.Findings)
	}
	for _, f := range r.Findings {
		if f.Cause == "" || f.WayOut == "" {
			t.Errorf("%q has neither cause nor way out: %+v", f.What, f)
		}
	}
	if !strings.Contains(files["report.txt"], "1. critical: Network.operator.openshift.io/cluster does not exist") {
		t.Errorf("%s", files["report.txt"])
	}
}

func TestTimeoutsAreListedAndTheRestIsCollected(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "there"}})
	config := rest.CopyConfig(server.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/nodes") {
				<-r.Context().Done()
				return nil, context.DeadlineExceeded
			}
			return next.RoundTrip(r)
		})
	})
	c, err := open(config, ns, networks.Registry(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.collect(t.Context(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(found.missing, "\n"); !strings.Contains(text, "nodes.: it did not come in time") {
		t.Errorf("missing is\n%s", text)
	}
	if n := len(found.objects[ns+"/configmaps"]); n == 0 {
		t.Error("the rest is missing")
	}
}

func TestFindingsNameCauseAndWayOut(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	conditions := func(list ...any) map[string]any { return map[string]any{"conditions": list} }
	cond := func(kind, status, reason, message string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	}
	object := func(name string, status map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns", "creationTimestamp": "2026-01-02T03:00:00Z"}, "status": status, "spec": map[string]any{"nodeName": "worker-0", "replicas": int64(1)}}
	}
	healthyCluster := object(operatorv1.NetworkName, conditions(cond("Available", "True", "", ""), cond("Degraded", "False", "", "")))
	for _, row := range []struct {
		why     string
		section string
		object  map[string]any
		want    []string
	}{
		{"a degraded network", "networks.operator.openshift.io", object("cluster", conditions(cond("Degraded", "True", "InvalidOperatorConfig", "spec.x is wrong"))), []string{"critical", "InvalidOperatorConfig: spec.x is wrong", "cno rollback current"}},
		{"a node without network", "nodes.", object("worker-1", conditions(cond("Ready", "False", "KubeletNotReady", "cni plugin not initialized"))), []string{"1 of 1 nodes are not ready: worker-1", "agent's pod on the node"}},
		{"an agent that is nowhere", "openshift-flannel/daemonsets", object("flanneld", map[string]any{"desiredNumberScheduled": int64(3), "numberAvailable": int64(0)}), []string{"critical", "DaemonSet openshift-flannel/flanneld: 0 of 3 pods are available"}},
		{"an agent that lacks one", "openshift-flannel/daemonsets", object("flanneld", map[string]any{"desiredNumberScheduled": int64(3), "numberAvailable": int64(2)}), []string{"warning", "2 of 3 pods are available"}},
		{"an agent that no node matches", "openshift-flannel/daemonsets", object("flanneld", map[string]any{}), []string{"warning", "DaemonSet openshift-flannel/flanneld runs on no node"}},
		{"a missing operator", "openshift-network-operator/deployments", object("network-operator", map[string]any{}), []string{"critical", "the operator does not work", "Deployment openshift-network-operator/network-operator has no available pod"}},
		{"an image that no registry has", "openshift-flannel/pods", object("flanneld-x", map[string]any{"containerStatuses": []any{map[string]any{"name": "flanneld", "image": "", "state": map[string]any{"waiting": map[string]any{"reason": "ErrImagePull", "message": "no such host"}}}}}), []string{"ns/flanneld-x on worker-0", "ImagePullBackOff: container flanneld: image : ErrImagePull: no such host", "make the image available"}},
		{"a check that fails", "podnetworkconnectivitychecks.controlplane.operator.openshift.io", object("a-to-b", conditions(cond("Reachable", "False", "TCPConnectError", "i/o timeout"))), []string{"critical", "a-to-b", "TCPConnectError: i/o timeout", "cno connectivity test"}},
	} {
		f := &collected{objects: map[string][]map[string]any{"networks.operator.openshift.io": {healthyCluster}}}
		f.objects[row.section] = []map[string]any{row.object}
		text := fmt.Sprint(evaluate(f, "openshift-network-operator", now))
		for _, want := range row.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", row.why, want, text)
			}
		}
	}
	if all := evaluate(&collected{objects: map[string][]map[string]any{"networks.operator.openshift.io": {healthyCluster}}}, "openshift-network-operator", now); len(all) > 0 {
		t.Errorf("of a network that is well: %v", all)
	}
}
