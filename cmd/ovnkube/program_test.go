package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/ovntest"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{WithoutProjectCRDs: true}) }

// TestDisplayAndDebugEndWithTheComparisons runs them beside real databases in which a load balancer belongs to no Service, and without Open vSwitch.
func TestDisplayAndDebugEndWithTheComparisons(t *testing.T) {
	server, central := apitest.Shared(t), ovntest.Start(t)
	central.Northbound("ls-add", "node1")
	central.Northbound("create", "Load_Balancer", "name=gone", "external_ids:cno-owner=ovnkube", `external_ids:cno-key="Service_shop/gone_TCP_cluster"`)
	central.Realize()
	settings := []string{
		"--ovn-run-dir=" + filepath.Dir(central.NorthboundSocket()), "--ovs-run-dir=" + t.TempDir(), "--ovs-datapath=userspace", "--config-file=" + filepath.Join(t.TempDir(), "none"),
		"--cluster-subnets=10.128.0.0/14/23", "--k8s-service-cidrs=172.30.0.0/16", "--encap-ip=192.0.2.1", "--sb-address=tcp:192.0.2.1:6642",
	}
	api := "--k8s-kubeconfig=" + server.Kubeconfig
	const stale = `northbound database: stale: row Load_Balancer "Service_shop/gone_TCP_cluster" (Service shop/gone)`
	for _, row := range []struct {
		why       string
		arguments []string
		want      []string // in this order
		never     string
	}{
		{"the logical network", []string{"display", api}, []string{
			"$ ovs-vsctl --db=unix:", "database connection failed", "$ ovn-nbctl ", "switch ", "(node1)", "$ ovn-sbctl ",
			"$ check-master\n", stale, "  remedy: ", "$ check-node\n", "not compared: ",
		}, "No differences found"},
		{"everything", []string{"ovn_debug", api}, []string{
			"(node1)", "$ ovs-vsctl", " list Interface\n", "$ ovs-ofctl", "dump-flows", "$ ovs-appctl", "$ ovn-appctl", "connection-status", " list Load_Balancer\n", "gone", " lflow-list\n", "ls_in_",
			"$ check-master\n", stale, "$ check-node\n", "not compared: ",
		}, "No differences found"},
		{"a container without access to the Kubernetes API", []string{"display"}, []string{
			"(node1)", "$ check-master\n", "not compared: find the Kubernetes API: ", "$ check-node\n", "not compared: find the Kubernetes API: ",
		}, stale},
	} {
		var out bytes.Buffer
		p := newProgram(func(name string) string { return map[string]string{"K8S_NODE": "node1"}[name] }, &out, t.Output())
		p.persistence = finding.Persistence{Attempts: 1}
		command := p.command()
		command.SetArgs(append(row.arguments, settings...))
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", row.why, err)
		}
		rest := out.String()
		for _, want := range row.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Fatalf("%s: no %q in the rest of the output:\n%s\nthe output is\n%s", row.why, want, rest, out.String())
			}
			rest = after
		}
		if strings.Contains(out.String(), row.never) {
			t.Errorf("%s: the output has %q:\n%s", row.why, row.never, out.String())
		}
	}
}

func TestRefusedFlagsAreNamedWithTheReason(t *testing.T) {
	for _, arguments := range [][]string{{"--nb-server-cacert=/a"}, {"display", "--nb-server-cacert", "/a"}} {
		command := newProgram(func(string) string { return "" }, t.Output(), t.Output()).command()
		command.SetArgs(arguments)
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--nb-server-cacert is not supported: each master uses") {
			t.Errorf("%v: %v", arguments, err)
		}
	}
}

// TestFindingsAreTheExitStatusOfAComparison: those that a person asked for, not those that display prints at its end.
func TestFindingsAreTheExitStatusOfAComparison(t *testing.T) {
	server, central := apitest.Shared(t), ovntest.Start(t)
	var out bytes.Buffer
	p := newProgram(func(name string) string { return map[string]string{"K8S_NODE": "node1"}[name] }, &out, t.Output())
	p.persistence = finding.Persistence{Attempts: 1}
	command := p.command()
	command.SetArgs([]string{
		"check-master", "--k8s-kubeconfig=" + server.Kubeconfig, "--ovn-run-dir=" + filepath.Dir(central.NorthboundSocket()), "--config-file=" + filepath.Join(t.TempDir(), "none"),
		"--cluster-subnets=10.128.0.0/14/23", "--k8s-service-cidrs=172.30.0.0/16", "--encap-ip=192.0.2.1",
	})
	// The databases are empty: all rows of the cluster are missing.
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "findings: ") {
		t.Errorf("the error is %v, and the output\n%s", err, out.String())
	}
}
