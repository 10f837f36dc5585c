package doctor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listedPod is one with a container, as the API server lists it.
func listedPod(name, app string, ready bool) map[string]any {
	status := "False"
	if ready {
		status = "True"
	}
	return map[string]any{
		"metadata": map[string]any{"name": name, "labels": map[string]any{"app": app}},
		"status": map[string]any{
			"conditions":        []any{map[string]any{"type": "Ready", "status": status}},
			"containerStatuses": []any{map[string]any{"name": "main", "restartCount": int64(0), "state": map[string]any{"running": map[string]any{}}}},
		},
	}
}

// TestEveryWorkloadHasLogsInTheArchive: a workload whose pods come first must not take the place of another one's.
func TestEveryWorkloadHasLogsInTheArchive(t *testing.T) {
	var pods []map[string]any
	for _, app := range []string{"flannel-etcd", "flannel-metrics", "flanneld"} {
		for i := range 5 {
			pods = append(pods, listedPod(fmt.Sprintf("%s-%d", app, i), app, true))
		}
	}
	pods = append(pods, listedPod("flanneld-ill", "flanneld", false))
	var got []string
	for _, s := range sources("n", pods) {
		got = append(got, s.pod)
	}
	want := []string{"flanneld-ill", "flannel-etcd-0", "flannel-etcd-1", "flannel-etcd-2", "flannel-metrics-0", "flannel-metrics-1", "flannel-metrics-2", "flanneld-0", "flanneld-1", "flanneld-2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
