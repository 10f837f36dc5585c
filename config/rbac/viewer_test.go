// Package rbac holds the roles that config/default installs.
package rbac

import (
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/crds"
)

func TestViewersReadEveryKindAndChangeNone(t *testing.T) {
	content, err := os.ReadFile("viewer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(content, &role); err != nil {
		t.Fatal(err)
	}
	if role.Labels["rbac.authorization.k8s.io/aggregate-to-view"] != "true" {
		t.Error("the role is not part of view")
	}
	for _, r := range role.Rules {
		for _, verb := range r.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("the role may %s %v", verb, r.Resources)
			}
		}
	}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, d.Spec.Group) && slices.Contains(r.Resources, d.Spec.Names.Plural) && slices.Contains(r.Verbs, "list")
		}) {
			t.Errorf("the role does not read %s", d.Name)
		}
	}
	list, err := os.ReadFile("kustomization.yaml")
	if err != nil || !strings.Contains(string(list), "- viewer.yaml\n") {
		t.Errorf("viewer.yaml is not installed: %v", err)
	}
}

// The API server warns about node affinity with the former label of control-plane nodes.
func TestTheDeploymentIsAppliedWithoutAWarning(t *testing.T) {
	content, err := os.ReadFile("../operator/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, affinity, _ := strings.Cut(string(content), "affinity:")
	affinity, _, ok := strings.Cut(affinity, "nodeSelector:")
	if !ok || !strings.Contains(affinity, "node-role.kubernetes.io/control-plane") || strings.Contains(affinity, "node-role.kubernetes.io/master") {
		t.Errorf("affinity:%s", affinity)
	}
}
