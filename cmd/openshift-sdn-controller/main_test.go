package main

import (
	"context"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
contexts: [{name: c, context: {cluster: c, user: ""}}]
current-context: c
`

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlags(t *testing.T) {
	network := agentconfig.Default()
	network.ClusterNetworks = []agentconfig.ClusterNetwork{{CIDR: netip.MustParsePrefix("10.128.0.0/14"), HostPrefix: 23}}
	network.ServiceNetwork, network.MTU = netip.MustParsePrefix("10.96.0.0/16"), 1450
	data, err := network.Encode()
	if err != nil {
		t.Fatal(err)
	}
	config, kube := "--config="+write(t, "openshift-sdn.json", data), "--kubeconfig="+write(t, "kubeconfig", []byte(kubeconfig))
	invalid := "--config=" + write(t, "openshift-sdn.json", []byte(`{"version":1,"mtu":1450,"serviceNetwork":"10.96.0.0/16"}`))
	for _, test := range []struct {
		reason string
		args   []string
		fault  string
	}{
		{"as the operator starts it", []string{"--node-name=cp-0", "--platform-type=None", config, kube}, ""},
		{"without the name of the node", []string{config, kube}, "--node-name is required"},
		{"without a configuration", []string{"--node-name=cp-0", kube, "--config=/nowhere"}, "read configuration"},
		{"with one that lacks pools", []string{"--node-name=cp-0", kube, invalid}, "clusterNetworks"},
		{"outside of a pod without a kubeconfig", []string{"--node-name=cp-0", config}, "how to reach the API server"},
		{"a level that does not exist", []string{"--node-name=cp-0", config, kube, "--log-level=5x"}, "--log-level"},
		{"an argument", []string{"--node-name=cp-0", config, kube, "run"}, `unknown command "run"`},
	} {
		t.Run(test.reason, func(t *testing.T) {
			p := newProgram(io.Discard)
			var got controller.Config
			p.run = func(_ context.Context, c controller.Config) error { got = c; return nil }
			cmd := p.command()
			cmd.SetArgs(test.args)
			err := cmd.ExecuteContext(t.Context())
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || got.Node != "cp-0" || got.HealthAddress != agentconfig.HealthController || got.LeaseNamespace != agentconfig.Namespace || got.Kube.Host != "https://192.0.2.1:6443" {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
}
