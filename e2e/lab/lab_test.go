package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/e2e/lab/image"
	"github.com/cluster-network-operator/cno/e2e/lab/plan"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

func TestParseTarget(t *testing.T) {
	lab, err := topology.New(topology.Options{ControlPlanes: 2, Workers: 1, Family: topology.IPv4, Links: 2, DHCP: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		nodes []string
		unit  string
		fails string
	}{
		"worker-0":         {nodes: []string{"worker-0"}},
		"etcd":             {nodes: []string{"cp-0", "cp-1"}, unit: "etcd"},
		"kubelet":          {nodes: []string{"cp-0", "cp-1", "worker-0"}, unit: "kubelet"},
		"cp-1/etcd":        {nodes: []string{"cp-1"}, unit: "etcd"},
		"worker-0/etcd":    {fails: `worker-0 runs no "etcd"`},
		"worker-9/kubelet": {fails: `no node is called "worker-9"`},
		"outside1":         {nodes: []string{"outside1"}},
		"outside2/dnsmasq": {nodes: []string{"outside2"}, unit: "dnsmasq"},
		"dnsmasq":          {nodes: []string{"outside2"}, unit: "dnsmasq"},
		// DHCP was asked for on the other link only.
		"outside1/dnsmasq": {fails: `outside1 runs no "dnsmasq"`},
		"outside1/kubelet": {fails: `outside1 runs no "kubelet"`},
		"nonsense":         {fails: `"nonsense" is neither a node (cp-0, cp-1, worker-0, outside1, outside2) nor a component (etcd, `},
		// The lab was configured not to run it.
		"kube-proxy": {fails: "neither"},
	}
	for target, tt := range tests {
		t.Run(target, func(t *testing.T) {
			got, err := ParseTarget(lab, target)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.nodes, topology.Topology{Nodes: got.Nodes}.Names()); diff != "" || got.Unit != tt.unit {
				t.Errorf("unit %q, nodes:\n%s", got.Unit, diff)
			}
		})
	}
}

func TestLogFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"cp-0/etcd.log", "cp-0/kubelet.log", "worker-0/kubelet.log"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string][]string{
		"":                 {"cp-0/etcd.log", "cp-0/kubelet.log", "worker-0/kubelet.log"},
		"cp-0":             {"cp-0/etcd.log", "cp-0/kubelet.log"},
		"kubelet":          {"cp-0/kubelet.log", "worker-0/kubelet.log"},
		"worker-0/kubelet": {"worker-0/kubelet.log"},
		"nonsense":         nil,
	} {
		files, err := LogFiles(dir, target)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, strings.TrimPrefix(f, dir+"/"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", target, diff)
		}
	}
}

func TestImagesAreImportedOnlyWhereTheyAreMissing(t *testing.T) {
	archive := image.Archive{References: []string{"a:1"}, Digest: "new"}
	tests := map[string]struct {
		loaded  loaded
		present []string
		want    bool
	}{
		"there and the same":            {loaded{"a:1": "new"}, []string{"a:1"}, true},
		"never loaded":                  {loaded{}, nil, false},
		"another one under that name":   {loaded{"a:1": "old"}, []string{"a:1"}, false},
		"removed from the node since":   {loaded{"a:1": "new"}, nil, false},
		"there, but from a third party": {loaded{}, []string{"a:1"}, false},
	}
	for name, tt := range tests {
		if got := tt.loaded.has(archive, tt.present); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

func TestFailedActionNamesStepNodeAndLogs(t *testing.T) {
	cause := errors.New("connection refused")
	err := error(&ActionError{
		Action: plan.Action{Verb: plan.AwaitAPI, Node: "cp-0"}, Logs: "/state/logs/cp-0", Err: cause,
	})
	for _, want := range []string{"await the API server of cp-0", "connection refused", "/state/logs/cp-0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is not to be found in it")
	}
}

func TestDownRemovesStateButNotBuilds(t *testing.T) {
	const state = "/checkout/_output/lab"
	want := []string{state + "/kubeconfig", state + "/pki", state + "/images"}
	if diff := cmp.Diff(want, inState(state, false)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{state}, inState(state, true)); diff != "" {
		t.Error(diff)
	}
}
