package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// thing is an object as it is collected.
func thing(name, node string, status map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name, "namespace": "openshift-flannel", "creationTimestamp": "2026-01-02T03:00:00Z"}, "status": status, "spec": map[string]any{"nodeName": node}}
}

func conditions(kind, status, reason, message string) map[string]any {
	return map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status, "reason": reason, "message": message}}}
}

// crashed is the status of a pod whose container ends over and over, with the end of its log.
func crashed(log string) map[string]any {
	return map[string]any{"containerStatuses": []any{map[string]any{"name": "flanneld", "restartCount": int64(7), "image": "i", "imageID": "",
		"state":     map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}},
		"lastState": map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error", "message": log}}}}}
}

func TestADeadNodeIsOneFinding(t *testing.T) {
	f := &collected{objects: map[string][]map[string]any{
		"networks.operator.openshift.io": {thing("cluster", "", conditions("Available", "True", "AsExpected", ""))},
		"nodes.":                         {thing("worker-0", "", conditions("Ready", "True", "", "")), thing("worker-1", "", conditions("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."))},
		"openshift-flannel/daemonsets":   {thing("flanneld", "", map[string]any{"desiredNumberScheduled": int64(2), "numberAvailable": int64(1)})},
		"openshift-flannel/pods":         {thing("flanneld-a", "worker-0", conditions("Ready", "True", "", "")), thing("flanneld-b", "worker-1", conditions("Ready", "False", "", ""))},
		"podnetworkconnectivitychecks.controlplane.operator.openshift.io": {thing("source-cp-0-to-node-worker-1", "", conditions("Reachable", "False", "TCPConnectError", ""))},
	}}
	all := evaluate(f, "openshift-network-operator", at)
	if len(all) != 1 || !hasFinding(all, "1 of 2 nodes are not ready: worker-1", "Kubelet stopped posting", "its power, its link") {
		t.Errorf("%d findings: %+v", len(all), all)
	}
}

func TestCrashIsOneFindingWithItsLastMessage(t *testing.T) {
	log := strings.Repeat("level=info msg=starting\n", 20) + "etcd: no such host\n"
	f := &collected{objects: map[string][]map[string]any{
		"networks.operator.openshift.io": {thing("cluster", "", conditions("Available", "True", "AsExpected", ""))},
		"nodes.":                         {thing("worker-0", "", conditions("Ready", "False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"))},
		"openshift-flannel/daemonsets":   {thing("flanneld", "", map[string]any{"desiredNumberScheduled": int64(1), "numberAvailable": int64(0)})},
		"openshift-flannel/pods":         {thing("flanneld-a", "worker-0", crashed(log))},
	}}
	all := evaluate(f, "openshift-network-operator", at)
	want := "CrashLoopBackOff: container flanneld ended with exit code 1: Error: etcd: no such host"
	if len(all) != 1 || all[0].Cause != want || all[0].WayOut != status.WayOutOf("CrashLoopBackOff", "") {
		t.Errorf("%d findings: %+v", len(all), all)
	}
	message := `DaemonSet "openshift-flannel/flanneld" does not work on all nodes - pod flanneld-a on node worker-0 is in CrashLoopBackOff State`
	f.objects["networks.operator.openshift.io"] = []map[string]any{thing("cluster", "", conditions("Degraded", "True", "CrashLoopBackOff", message))}
	if all = evaluate(f, "openshift-network-operator", at); len(all) != 1 || !hasFinding(all, "the network is degraded", message, "last log lines") {
		t.Errorf("once the condition has it: %d findings: %+v", len(all), all)
	}
}

func TestEveryReasonHasItsOwnWayOut(t *testing.T) {
	for reason, want := range map[string]string{"FightDetected": "stop the client", "ImagePullBackOff": "environment of Deployment network-operator", "InvalidOperatorConfig": "cno rollback current", "NodeUnreachable": "cno connectivity test", "EtcdUnreachable": "firewalls"} {
		f := &collected{wayOuts: networks.Registry().Operands().WayOuts, objects: map[string][]map[string]any{"networks.operator.openshift.io": {thing("cluster", "", conditions("Degraded", "True", reason, "m"))}}}
		if all := evaluate(f, "ns", at); len(all) != 1 || !hasFinding(all, reason, want) {
			t.Errorf("%s: %+v", reason, all)
		}
	}
	f := &collected{wayOuts: networks.Registry().Operands().WayOuts, objects: map[string][]map[string]any{
		"networks.operator.openshift.io": {thing("cluster", "", conditions("Progressing", "True", "EtcdUnreachable", "m"))},
	}}
	if all := evaluate(f, "ns", at); len(all) != 1 || !hasFinding(all, "EtcdUnreachable", "firewalls") {
		t.Errorf("before it has lasted for two minutes: %+v", all)
	}
}

func TestNoPermissionIsNotAbsence(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	c, err := open(server.User(t, "stranger"), ns, networks.Registry(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.collect(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	all := evaluate(found, ns, time.Now())
	if len(all) != 1 || !hasFinding(all, "warning", "the state of the network is unknown", "no permission to read networks.operator.openshift.io", "run the command as") {
		t.Errorf("%+v", all)
	}
	if missing := strings.Join(found.missing, "\n"); !strings.Contains(missing, "no permission: ") {
		t.Errorf("not whole:\n%s", missing)
	}
}

func TestUnresponsiveWebhookIsNamedWithTheCommandThatRemovesIt(t *testing.T) {
	server := apitest.Start(t, apitest.Options{})
	ns := server.Namespace(t)
	deployed(t, server, ns, 1)
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: status.ConfigMapName}})
	if all := diagnose(t, server, ns, 0); hasFinding(all, "webhook") {
		t.Errorf("before there is one: %+v", all)
	}
	none, path := admissionv1.SideEffectClassNone, "/"
	hook := admissionv1.ValidatingWebhook{Name: "w.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: ns, Name: "gone", Path: &path}},
		Rules:        []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"UPDATE"}, Rule: admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}}}}
	server.Create(t, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "leftover"}, Webhooks: []admissionv1.ValidatingWebhook{hook}})
	eventually.HoldsWithin(t, 2*time.Minute, "the webhook is found", func() (string, bool) {
		all := diagnose(t, server, ns, 0)
		return fmt.Sprintf("%+v", all), hasFinding(all, "critical", "a webhook keeps the operator from writing", "Deployment "+ns+"/network-operator", "w.example.com", "kubectl delete validatingwebhookconfiguration leftover")
	})
}
