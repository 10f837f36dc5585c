package egressrouter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

func TestRoutersBecomeTheObjectsInTestdata(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("found %d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			content, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			router := &networkv1.EgressRouter{}
			if err := yaml.UnmarshalStrict(content, router); err != nil {
				t.Fatal(err)
			}
			if errs := Validate(&router.Spec); len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			made, err := objects(router, settings{Image: "egress-router-cni:v1", Version: "v1", UsersAreAssigned: strings.Contains(input, "long-name")})
			if err != nil {
				t.Fatal(err)
			}
			var all []manifest.Object
			for _, o := range made {
				all = append(all, manifest.Object{Object: o})
			}
			got, err := manifest.Encode(all)
			if err != nil {
				t.Fatal(err)
			}
			file := strings.TrimSuffix(input, ".in.yaml") + ".out.yaml"
			golden.Compare(t, file, got)
		})
	}
}

// A pod's networks are made when the pod is.
func TestPodsAreRecreatedForAnotherConfigurationAndNotForAnotherOperator(t *testing.T) {
	template := func(change func(*networkv1.EgressRouter), s settings) any {
		router := valid("r")
		change(router)
		made, err := objects(router, s)
		if err != nil {
			t.Fatal(err)
		}
		deployment := made[len(made)-1]
		return deployment.Object["spec"].(map[string]any)["template"]
	}
	base := settings{Image: "i", Version: "v1"}
	same := func(*networkv1.EgressRouter) {}
	for _, row := range []struct {
		why       string
		change    func(*networkv1.EgressRouter)
		with      settings
		recreated bool
	}{
		{"nothing", same, base, false},
		{"the operator's version does not affect the pod", same, settings{Image: "i", Version: "v2"}, false},
		{"another image", same, settings{Image: "j", Version: "v1"}, true},
		{"another gateway", func(r *networkv1.EgressRouter) { r.Spec.Addresses[0].Gateway = "192.168.12.2" }, base, true},
		{"another mode", func(r *networkv1.EgressRouter) { r.Spec.NetworkInterface.Macvlan.Mode = networkv1.MacvlanModePrivate }, base, true},
		{"another destination", func(r *networkv1.EgressRouter) { r.Spec.Redirect.FallbackIP = "203.0.113.2" }, base, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			if recreated := cmp.Diff(template(same, base), template(row.change, row.with)) != ""; recreated != row.recreated {
				t.Errorf("got %v, want %v", recreated, row.recreated)
			}
		})
	}
}

// valid returns a router without errors.
func valid(name string) *networkv1.EgressRouter {
	router := &networkv1.EgressRouter{}
	router.Name, router.Namespace, router.UID = name, "shop", "1"
	router.Spec = networkv1.EgressRouterSpec{
		Mode:             networkv1.EgressRouterModeRedirect,
		NetworkInterface: networkv1.EgressRouterInterface{Macvlan: networkv1.MacvlanConfig{Mode: networkv1.MacvlanModeBridge}},
		Addresses:        []networkv1.EgressRouterAddress{{IP: "192.168.12.99/24", Gateway: "192.168.12.1"}},
		Redirect:         &networkv1.RedirectConfig{FallbackIP: "203.0.113.26"},
	}
	return router
}

func TestOverridesReachThePodsOfRouters(t *testing.T) {
	router := &networkv1.EgressRouter{}
	content, err := os.ReadFile("testdata/both-families.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, router); err != nil {
		t.Fatal(err)
	}
	made, err := objects(router, settings{Image: "i", Workloads: []operatorv1.Workload{
		{Name: "flanneld", PriorityClassName: "other"}, {Name: "egress-router-cni", PriorityClassName: "mine", NodeSelector: map[string]string{"egress": "yes"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := decodeDeployment(made[len(made)-1])
	if pod := d.Spec.Template.Spec; pod.PriorityClassName != "mine" || pod.NodeSelector["egress"] != "yes" || pod.NodeSelector["kubernetes.io/os"] != "linux" {
		t.Errorf("the pod has priority class %q and selector %v", pod.PriorityClassName, pod.NodeSelector)
	}
	if made[0].GetKind() == kindDeployment.Kind || made[0].Object["spec"].(map[string]any)["config"] == "" {
		t.Errorf("the attachment changed: %v", made[0].Object)
	}
}
