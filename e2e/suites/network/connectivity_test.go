package network

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// tried is the output of cno connectivity test -o json.
type tried struct {
	Passed, Failed int
	Hops, Notes    []string
	Scenarios      []scenario
	Seconds        float64
}

// scenario is one connection of the test.
type scenario struct {
	Name, Error string
	OK          bool
}

// try runs the test, and returns its output.
func try(t *testing.T, status int, args ...string) tried {
	t.Helper()
	// Only scenarios that the network does not support may fail.
	if len(network.Unserved) > 0 {
		status = 1
	}
	out := cno(t, status, append([]string{"connectivity", "test", "-o", "json"}, args...)...)
	var r tried
	if err := json.Unmarshal([]byte(out[strings.IndexByte(out, '{'):strings.LastIndexByte(out, '}')+1]), &r); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	served := slices.DeleteFunc(r.Scenarios, func(s scenario) bool {
		return slices.ContainsFunc(network.Unserved, func(part string) bool { return strings.Contains(s.Name, part) })
	})
	if unserved := len(r.Scenarios) - len(served); unserved > 0 {
		r.Scenarios, r.Hops, r.Passed, r.Failed = served, nil, 0, 0
		for _, s := range served {
			if s.OK {
				r.Passed++
			} else {
				r.Failed++
			}
		}
	}
	t.Logf("%d of %d scenarios pass in %.1f s; %v %v", r.Passed, r.Passed+r.Failed, r.Seconds, r.Hops, r.Notes)
	return r
}

// nothing fails the test if objects of a connectivity test are left.
func nothing(t *testing.T) {
	t.Helper()
	if out := kubectl(t, "get", "namespaces", "-l", "networkoperator.openshift.io/connectivity-test", "-o", "name"); out != "" {
		t.Errorf("%s is left", out)
	}
}

// declared is what the network declares about NetworkPolicies and the isolation of namespaces.
func declared(t *testing.T) provider.Carriage {
	t.Helper()
	tracer, ok := network.Provider.(provider.Tracer)
	if !ok {
		return provider.Carriage{Unenforced: "the operator does not know"}
	}
	text, err := network.YAML(lab)
	if err != nil {
		t.Fatal(err)
	}
	var object operatorv1.Network
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return tracer.Carries(&object.Spec)
}

// TestConnectivityTestPassesOnAHealthyCluster also tests that connections are denied by NetworkPolicies and the isolation of namespaces.
func TestConnectivityTestPassesOnAHealthyCluster(t *testing.T) {
	// Pods of a loaded machine need more than 20 seconds to start.
	patient := []string{"--timeout", "10m"}
	r, want := try(t, 0, patient...), declared(t)
	notes := slices.DeleteFunc(slices.Clone(r.Notes), func(n string) bool {
		return want.Unenforced != "" && strings.HasPrefix(n, "scenarios with NetworkPolicies are skipped: "+want.Unenforced)
	})
	if r.Failed > 0 || r.Passed < 50 || len(notes) > 0 {
		t.Errorf("%+v", r)
	}
	for part, tried := range map[string]bool{"NetworkPolicy deny-ingress denies": want.Unenforced == "", "which is isolated": want.Isolation != ""} {
		if slices.ContainsFunc(r.Scenarios, func(s scenario) bool { return strings.Contains(s.Name, part) }) != tried {
			t.Errorf("scenarios named %q: want %t", part, tried)
		}
	}
	nothing(t)
	if one := try(t, 0, append(patient, "--node", "worker-0")...); one.Passed < 10 || one.Failed > 0 {
		t.Errorf("on one node: %+v", one)
	}
}

func TestPathsOfPodsAreComparedWithThoseOfNodes(t *testing.T) {
	kit.Full(t)
	out := cno(t, 0, "connectivity", "perf", "--node", "worker-0", "--node", "worker-1", "--for", "500ms", "-o", "json")
	var r struct {
		From, To string
		Paths    []struct {
			Path, Error                                     string
			Gbps, ConnectionsPerSecond, RoundTripTimesNodes float64
		}
	}
	if err := json.Unmarshal([]byte(out[strings.IndexByte(out, '{'):strings.LastIndexByte(out, '}')+1]), &r); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if r.From != "worker-0" || r.To != "worker-1" || len(r.Paths) != 4 {
		t.Errorf("%+v", r)
	}
	for i, p := range r.Paths {
		t.Logf("%+v", p)
		if p.Error != "" || p.Gbps <= 0 || p.ConnectionsPerSecond <= 0 || (p.RoundTripTimesNodes > 0) == (i == 0) {
			t.Errorf("%+v", p)
		}
	}
	nothing(t)
}

func TestFailingHopIsNamed(t *testing.T) {
	kit.Full(t)
	if _, err := lab.Lab(t.Context(), "unplug", "worker-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := lab.Lab(context.Background(), "plug", "worker-1"); err != nil {
			t.Error(err)
		}
		if err := kit.Poll(context.Background(), 2*time.Minute, lab.Settled); err != nil {
			t.Error(err)
		}
		nothing(t)
	})
	out, status, err := lab.CNO(context.Background(), "", "connectivity", "test")
	if err != nil || status == 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	for _, want := range []string{"node worker-0 -> node worker-1: the nodes do not reach one another", "note  no pod can be started on the pod network of worker-1"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not contain %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "node worker-0 -> node cp-0") {
		t.Errorf("the output reports a hop that works:\n%s", out)
	}
}

func TestAnInterruptedTestLeavesNothing(t *testing.T) {
	kit.Full(t)
	program := filepath.Join(lab.Root, "_output", runtime.GOOS, runtime.GOARCH, "cno")
	cmd := exec.Command(program, "connectivity", "test", "--kubeconfig", lab.Kubeconfig())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	kit.Eventually(t, time.Minute, "the test has begun", func(context.Context) error {
		out, err := lab.Kubectl(t.Context(), "get", "pods", "-A", "-l", "app=server", "-o", "name")
		if err == nil && out == "" {
			err = context.DeadlineExceeded
		}
		return err
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted test has exit status 0")
	}
	nothing(t)
}

func TestDoctorFindsProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "network.tar.gz")
	kit.Eventually(t, 5*time.Minute, "doctor finds no problem", func(ctx context.Context) error {
		out, status, err := lab.CNO(ctx, "", "doctor", "--archive", file)
		if err == nil && status != 0 {
			err = fmt.Errorf("status %d: %s", status, out)
		}
		return err
	})
	list, err := exec.Command("tar", "tzf", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	agent := network.Agents()[0]
	for _, want := range []string{
		"report.txt", "objects/nodes.jsonl", "logs/openshift-network-operator/network-operator-",
		"objects/" + agent.Namespace + "/daemonsets.jsonl", "logs/" + agent.Namespace + "/" + agent.Name + "-",
	} {
		if !strings.Contains(string(list), want) {
			t.Errorf("the archive has no %s:\n%s", want, list)
		}
	}
	kubectl(t, "-n", kit.OperatorNamespace, "scale", "deployment/network-operator", "--replicas=0")
	t.Cleanup(func() {
		kubectl(t, "-n", kit.OperatorNamespace, "scale", "deployment/network-operator", "--replicas=1")
		if err := kit.Poll(context.Background(), time.Minute, lab.OperatorRuns); err != nil {
			t.Error(err)
		}
	})
	if out := cno(t, 1, "doctor", "--archive", file); !strings.Contains(out, "Deployment "+kit.OperatorNamespace+"/network-operator is scaled to 0") {
		t.Errorf("doctor reports\n%s", out)
	}
	// Who gets the archive sees what doctor has found.
	page := overviewOf(t, file)
	if page.Status.State == "healthy" || !slices.ContainsFunc(page.Findings, func(f struct{ What, Cause string }) bool { return strings.Contains(f.What+f.Cause, "is scaled to 0") }) {
		t.Errorf("the pages of the archive have %+v", page)
	}
}
