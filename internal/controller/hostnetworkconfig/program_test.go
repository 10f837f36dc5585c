package hostnetworkconfig

import (
	"strings"
	"testing"
	"testing/fstest"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
)

const workersWithProgram = "role: worker\napplier: HostNetwork\nbridge: {uplink: {interface: eno1}}"

func unitsOf(version string) fstest.MapFS {
	return fstest.MapFS{"host-network.service": {Data: []byte("[Unit]\nDescription=" + version + "\n\n[Install]\nWantedBy=a.target\n")}}
}

// programOf returns the image and the first unit of the program in the MachineConfig of a role; both are empty if there is none.
func (c *cluster) programOf(role string) (image, unit string) {
	c.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Name: hostprogram.Name(role)}, u)
	if apierrors.IsNotFound(err) {
		return "", ""
	}
	if err != nil {
		c.t.Fatal(err)
	}
	files, _, _ := unstructured.NestedSlice(u.Object, "spec", "config", "storage", "files")
	for _, f := range files {
		if source, _, _ := unstructured.NestedString(f.(map[string]any), "contents", "source"); f.(map[string]any)["path"] == hostprogram.ImageFile {
			content, err := machineconfig.DecodeSource(source)
			if err != nil {
				c.t.Fatal(err)
			}
			image = strings.TrimSpace(string(content))
		}
	}
	units, _, _ := unstructured.NestedSlice(u.Object, "spec", "config", "systemd", "units")
	for _, v := range units {
		if v.(map[string]any)["name"] == "host-network.service" {
			_, description, _ := strings.Cut(v.(map[string]any)["contents"].(string), "Description=")
			unit, _, _ = strings.Cut(description, "\n")
		}
	}
	return image, unit
}

func (c *cluster) hasProgram(why, role, image, unit string) {
	c.t.Helper()
	if i, u := c.programOf(role); i != image || u != unit {
		c.t.Errorf("%s: the nodes of %s get image %q and unit %q, want %q and %q", why, role, i, u, image, unit)
	}
}

// pool creates the pool of a role, which also gets what workers get, as custom pools do.
func (c *cluster) pool(role string, paused bool, next, now string) {
	c.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"paused": paused, "configuration": map[string]any{"name": next},
			"machineConfigSelector": map[string]any{"matchExpressions": []any{
				map[string]any{"key": machineconfig.RoleLabel, "operator": "In", "values": []any{"worker", role}}}},
		},
		"status": map[string]any{"configuration": map[string]any{"name": now}},
	}}
	u.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfigPool"))
	u.SetName(role)
	if err := c.Server.Client.Delete(c.t.Context(), u.DeepCopy()); client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	c.create(u)
}

// upgrade is the operator of another version: it has another image and other units, and remembers nothing.
func (c *cluster) upgrade(version string) {
	c.Controller.Image, c.Controller.Version, c.Units = "host-network:"+version, version, unitsOf(version)
	c.lastApplied, c.renderCache = nil, nil
	c.reconcile()
}

func TestAnUpgradeOfTheOperatorRestartsNoNode(t *testing.T) {
	c := newCluster(t, false)
	c.Units = unitsOf("v1")
	c.pool("worker", false, "rendered-1", "rendered-1")
	c.config("workers", workersWithProgram)
	c.reconcile()
	c.hasProgram("at first", "worker", "IMAGE=host-network:v1", "v1")

	c.upgrade("v2")
	c.hasProgram("after the upgrade", "worker", "IMAGE=host-network:v2", "v1")
	c.wantCondition("workers", networkv1.ConditionRendered, metav1.ConditionTrue, "AsExpected", "keeps the units of an earlier version of the operator")

	c.pool("worker", false, "rendered-2", "rendered-1")
	c.reconcile()
	c.hasProgram("nodes restart already, some of them have", "worker", "IMAGE=host-network:v2", "v1")
	c.pool("worker", true, "rendered-2", "rendered-1")
	c.pool("infra", false, "rendered-3", "rendered-3")
	c.reconcile()
	c.hasProgram("one of the pools would restart for it alone", "worker", "IMAGE=host-network:v2", "v1")
	c.pool("infra", true, "rendered-4", "rendered-3")
	c.reconcile()
	c.hasProgram("all pools will restart anyway", "worker", "IMAGE=host-network:v2", "v2")
	c.wantCondition("workers", networkv1.ConditionRendered, metav1.ConditionTrue, "AsExpected", "")
}

func TestTheAuthorAcceptsARestart(t *testing.T) {
	c := newCluster(t, false)
	c.Units = unitsOf("v1")
	c.pool("worker", false, "rendered-1", "rendered-1")
	c.config("workers", workersWithProgram)
	c.reconcile()
	c.upgrade("v2")
	rendered := meta.FindStatusCondition(c.get("workers").Status.Conditions, networkv1.ConditionRendered)
	_, digest, ok := strings.Cut(rendered.Message, networkv1.AcceptRestart+"=")
	if !ok {
		t.Fatalf("the condition does not describe the way out: %s", rendered.Message)
	}
	for _, row := range []struct{ annotation, unit string }{{"true", "v1"}, {digest, "v2"}} {
		config := c.get("workers")
		config.Annotations = map[string]string{networkv1.AcceptRestart: row.annotation}
		if err := c.Server.Client.Update(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		c.reconcile()
		c.hasProgram("with the annotation "+row.annotation, "worker", "IMAGE=host-network:v2", row.unit)
	}
	// What was accepted for one version does not count for the next.
	c.upgrade("v3")
	c.hasProgram("after another upgrade", "worker", "IMAGE=host-network:v3", "v2")
}

func TestNeitherAnErrorNorADeletionRestartsNodes(t *testing.T) {
	c := newCluster(t, false)
	c.Units = unitsOf("v1")
	c.config("workers", workersWithProgram)
	c.reconcile()
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Bridge.Uplink.Interface = "${no one}" })
	c.upgrade("v2")
	c.hasProgram("while the config is invalid", "worker", "IMAGE=host-network:v2", "v1")
	c.deleteConfig("workers")
	c.upgrade("v3")
	c.hasProgram("without the config", "worker", "IMAGE=host-network:v3", "v1")
	if c.files("worker") != nil {
		t.Error("the documents are still there")
	}
	c.config("again", workersWithProgram)
	c.reconcile()
	c.hasProgram("with a new config", "worker", "IMAGE=host-network:v3", "v1")
	c.edit("again", func(s *networkv1.HostNetworkConfigSpec) { s.Applier = networkv1.ApplierMachineConfigOperator })
	c.reconcile()
	c.hasProgram("when it is not requested", "worker", "", "")
}

func TestChangedProgramGetsTheCurrentUnits(t *testing.T) {
	c := newCluster(t, false)
	c.Units = unitsOf("v1")
	c.config("workers", workersWithProgram)
	c.reconcile()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	if err := c.Server.Client.Get(t.Context(), client.ObjectKey{Name: hostprogram.Name("worker")}, u); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(u.Object, nil, "spec", "config", "systemd", "units"); err != nil {
		t.Fatal(err)
	}
	if err := c.Server.Client.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	c.upgrade("v2")
	c.hasProgram("after an edit", "worker", "IMAGE=host-network:v2", "v2")
}

func TestWithoutTheFieldNodesKeepTheStockService(t *testing.T) {
	c := newCluster(t, false)
	c.node("w-0", "worker")
	c.config("workers", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.reconcile()
	c.hasProgram("by default", "worker", "", "")
	if hosts := c.get("workers").Status.Hosts; len(hosts) != 1 || !strings.Contains(hosts[0].Message, "spec.applier: HostNetwork replaces it") {
		t.Errorf("hosts are %+v", hosts)
	}
	c.Controller.Image = ""
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Applier = networkv1.ApplierHostNetwork })
	c.reconcile()
	c.wantCondition("workers", networkv1.ConditionRendered, metav1.ConditionFalse, "ApplyFailed", "the image of host-network is unknown (HOST_NETWORK_IMAGE)")
}

func TestFieldHasNoEffectOutsideOpenShift(t *testing.T) {
	c := newCluster(t, true)
	c.config("workers", workersWithProgram)
	c.reconcile()
	c.hasProgram("on plain Kubernetes", "worker", "", "")
	c.wantCondition("workers", networkv1.ConditionRendered, metav1.ConditionTrue, "AsExpected", "")
}
