package hostnetworkconfig

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

// agentOf returns the command of the sync agents of a role; empty if there are none.
func (c *cluster) agentOf(role string) string {
	c.t.Helper()
	var d appsv1.DaemonSet
	err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Namespace: nodereport.Namespace, Name: agentPrefix + role}, &d)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Join(d.Spec.Template.Spec.Containers[0].Command, " ")
}

func (c *cluster) deleteConfig(name string) {
	c.t.Helper()
	if err := c.Server.Client.Delete(c.t.Context(), c.get(name)); err != nil {
		c.t.Fatal(err)
	}
}

func TestDeletedConfigRemovesItsFilesFromNodes(t *testing.T) {
	c := newCluster(t, true)
	c.node("infra-0", "infra")
	c.node("w-0")
	c.config("infra", "role: infra\nbridge: {uplink: {interface: eno1}}")
	c.config("workers", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.reconcile()
	c.report("infra-0", nodereport.Report{Result: "applied", File: "cluster.yml"})
	c.deleteConfig("infra")
	if result := c.reconcile(); result.RequeueAfter != retryInterval {
		t.Errorf("the next look is in %v", result.RequeueAfter)
	}
	if got := c.agentOf("infra"); !strings.Contains(got, "--withdraw --to /host/etc/nmstate/openshift") || strings.Contains(got, "--from") {
		t.Errorf("sync agents run %q", got)
	}
	key := client.ObjectKey{Namespace: nodereport.Namespace, Name: "files-infra-0"}
	if err := c.Server.Client.Get(t.Context(), key, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the files are still there: %v", err)
	}
	if status := c.get("workers").Status; status.Nodes != 1 {
		t.Errorf("two sync agents write on a node: the workers are %+v", status.Hosts)
	}
	c.report("infra-0", nodereport.Report{Result: "applied", File: "cluster.yml", Withdrawn: true})
	c.reconcile()
	if got := c.agentOf("infra"); got != "" {
		t.Errorf("with nothing left, sync agents run %q", got)
	}
	c.reconcile()
	if status := c.get("workers").Status; status.Nodes != 2 || status.Hosts[0].Message != "the node has not reported" {
		t.Errorf("the node without a role of its own is not a worker, or an old report counts: %+v", status.Hosts)
	}
}

func TestARoleThatIsConfiguredAgainKeepsItsSyncAgents(t *testing.T) {
	c := newCluster(t, true)
	c.node("w-0")
	c.config("workers", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.reconcile()
	c.deleteConfig("workers")
	c.reconcile()
	c.config("again", "role: worker\nbridge: {uplink: {interface: eno2}}")
	c.reconcile()
	if got := c.agentOf("worker"); !strings.Contains(got, "--from /files") || strings.Contains(got, "--withdraw") {
		t.Errorf("sync agents run %q", got)
	}
	c.wantCondition("again", networkv1.ConditionRendered, "True", "AsExpected", "")
}

func TestAnInvalidConfigKeepsItsFilesOnTheNodes(t *testing.T) {
	c := newCluster(t, true)
	c.node("w-0")
	c.config("workers", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.reconcile()
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Bridge.Uplink.Interface = "${no one}" })
	c.reconcile()
	if got := c.agentOf("worker"); !strings.Contains(got, "--from /files") {
		t.Errorf("sync agents run %q", got)
	}
}

func TestWithoutNodesNothingIsWaitedFor(t *testing.T) {
	c := newCluster(t, true)
	c.config("workers", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.reconcile()
	c.deleteConfig("workers")
	c.reconcile()
	if got := c.agentOf("worker"); got != "" {
		t.Errorf("sync agents run %q", got)
	}
}
