package doctor

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

// TestAReplicaWithoutAControlPlaneNodeIsNoProblem: the Deployment has two replicas, which cannot share a node.
func TestAReplicaWithoutAControlPlaneNodeIsNoProblem(t *testing.T) {
	now := time.Now()
	renewed := metav1.NewMicroTime(now)
	const ns = "operator"
	node := func(name string, ready string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": name, "labels": map[string]any{"node-role.kubernetes.io/control-plane": ""}},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		}
	}
	pending := map[string]any{
		"metadata": map[string]any{"name": status.OperatorDeployment + "-b", "namespace": ns, "creationTimestamp": now.Add(-time.Hour).UTC().Format(time.RFC3339)},
		"status": map[string]any{"phase": "Pending", "conditions": []any{map[string]any{
			"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 node(s) didn't have free ports",
			"lastTransitionTime": now.Add(-time.Hour).UTC().Format(time.RFC3339)}}},
	}
	for name, tc := range map[string]struct {
		nodes     []map[string]any
		available int64
		findings  bool
	}{
		"one control-plane node":                         {[]map[string]any{node("a", "True")}, 1, false},
		"two control-plane nodes, one pod is missing":    {[]map[string]any{node("a", "True"), node("b", "True")}, 1, true},
		"one control-plane node, and no pod works on it": {[]map[string]any{node("a", "True")}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &collected{
				lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}},
				objects: map[string][]map[string]any{
					section{resource: nodes}.name(): tc.nodes,
					ns + "/pods":                    {pending},
					ns + "/deployments": {{
						"metadata": map[string]any{"name": status.OperatorDeployment, "namespace": ns},
						"spec":     map[string]any{"replicas": int64(2)}, "status": map[string]any{"availableReplicas": tc.available},
					}},
				},
			}
			all := evaluate(f, ns, now)
			if got := hasFinding(all, status.OperatorDeployment); got != tc.findings {
				t.Errorf("findings about the operator: %t, want %t\n%s", got, tc.findings, fmt.Sprint(all))
			}
		})
	}
}
