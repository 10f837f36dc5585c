package admission

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/networks"
)

func TestInstalledRolesMatchTheCode(t *testing.T) {
	installed, err := os.ReadFile("../../config/rbac/networks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := WriteRoles(&want, networks.Registry().Operands()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), string(installed)); d != "" {
		t.Errorf("run hack/generate.sh: %s", d)
	}
}

func TestInstalledPoliciesMatchTheCode(t *testing.T) {
	installed, err := os.ReadFile("../../config/admission/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	all := networks.Registry()
	if err := Write(&want, all.Fields(""), all.Operands()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), string(installed)); d != "" {
		t.Errorf("run hack/generate.sh: %s", d)
	}
}
