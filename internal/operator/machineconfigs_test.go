package operator

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostnetwork "github.com/cluster-network-operator/cno/config/host-network"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// TestMachineConfigsOfTheOperatorChangeNothingElse: with a MachineConfig, nodes can be given anything. The operator's own account
// may write those that it needs, and no other content under their names.
func TestMachineConfigsOfTheOperatorChangeNothingElse(t *testing.T) {
	c := newCluster(t, apitest.Options{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		kindOfOthers("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs", apiextensionsv1.ClusterScoped),
	}})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	account, err := c.ClientFor(c.ServiceAccount(t, operatorNamespace, serviceAccount))
	if err != nil {
		t.Fatal(err)
	}
	program, err := hostprogram.MachineConfig("worker", "quay.io/cno/host-network@sha256:01", hostnetwork.Files)
	if err != nil {
		t.Fatal(err)
	}
	documents, _, err := machineconfig.Pack("worker", placement.Files{{Name: "cluster.yml", Content: []byte("interfaces: []\n")}})
	if err != nil {
		t.Fatal(err)
	}
	changed := func(o *unstructured.Unstructured, name string, change func(spec, config map[string]any)) *unstructured.Unstructured {
		// As JSON has it, so that numbers are what they are in the API server.
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		out := &unstructured.Unstructured{}
		if err := out.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			out.SetName(name)
		}
		spec := out.Object["spec"].(map[string]any)
		change(spec, spec["config"].(map[string]any))
		return out
	}
	nothing := func(map[string]any, map[string]any) {}
	file := func(path string) func(spec, config map[string]any) {
		return func(_, config map[string]any) {
			config["storage"] = map[string]any{"files": []any{map[string]any{"path": path, "contents": map[string]any{"source": "data:,a"}}}}
		}
	}
	unit := func(u map[string]any) func(spec, config map[string]any) {
		return func(_, config map[string]any) { config["systemd"] = map[string]any{"units": []any{u}} }
	}
	try := func(o *unstructured.Unstructured) error { return account.Create(t.Context(), o, client.DryRunAll) }
	c.eventually("the policy is active", func() bool { return byPolicy(try(changed(program, "99-evil", nothing))) })
	for why, o := range map[string]*unstructured.Unstructured{
		"under another name":             changed(documents, "99-worker", nothing),
		"a program among the documents":  changed(program, machineconfig.Name("worker"), nothing),
		"a file elsewhere":               changed(documents, "", file("/etc/shadow")),
		"a file that leaves its place":   changed(documents, "", file(placement.Dir+"/../../shadow")),
		"a script of NetworkManager":     changed(program, "", file("/etc/NetworkManager/dispatcher.d/evil")),
		"host-network.conf, as document": changed(documents, "", file("/etc/NetworkManager/conf.d/host-network.conf")),
		"another unit":                   changed(program, "", unit(map[string]any{"name": "evil.service", "contents": "[Service]"})),
		"the stock unit, with content":   changed(program, "", unit(map[string]any{"name": hostprogram.StockUnit, "contents": "[Service]", "mask": true})),
		"the stock unit, enabled":        changed(program, "", unit(map[string]any{"name": hostprogram.StockUnit, "enabled": true})),
		"a user":                         changed(program, "", func(_, config map[string]any) { config["passwd"] = map[string]any{} }),
		"kernel arguments":               changed(program, "", func(spec, _ map[string]any) { spec["kernelArguments"] = []any{"init=/bin/sh"} }),
		"a configuration from elsewhere": changed(program, "", func(_, config map[string]any) {
			config["ignition"] = map[string]any{"version": "3.2.0", "config": map[string]any{"merge": []any{}}}
		}),
		"a disk": changed(program, "", func(_, config map[string]any) { config["storage"] = map[string]any{"disks": []any{}} }),
	} {
		if err := try(o); !byPolicy(err) {
			t.Errorf("it creates %s: %v", why, err)
		}
	}
	for _, o := range []*unstructured.Unstructured{program, documents} {
		if err := try(changed(o, "", nothing)); err != nil {
			t.Errorf("%s: %v", o.GetName(), err)
		}
	}
	other := changed(documents, "00-worker", nothing)
	c.create(other)
	if err := account.Delete(t.Context(), other, client.DryRunAll); !byPolicy(err) {
		t.Errorf("it deletes the MachineConfig of another owner: %v", err)
	}
}
