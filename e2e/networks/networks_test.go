package networks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/facts"
	registry "github.com/cluster-network-operator/cno/internal/networks"
)

var checkout = &kit.Kit{Root: "../.."}

// TestEveryReleasedNetworkIsInTheTable ensures that every network of a release is tested in the lab.
func TestEveryReleasedNetworkIsInTheTable(t *testing.T) {
	for _, p := range registry.Registry().Providers {
		traits := p.Traits()
		if traits.NotBuilt != "" {
			continue
		}
		n, err := Find(string(traits.Type))
		if err != nil {
			t.Error(err)
		} else if !n.Quick {
			t.Errorf("make e2e does not test %s", n.Type)
		}
	}
}

// TestUnsafeChangesAreRefusedByTheirNetworks: released networks have one, and the provider refuses it for a network in use.
func TestUnsafeChangesAreRefusedByTheirNetworks(t *testing.T) {
	for _, n := range All() {
		if n.Unsafe == nil {
			if n.Quick {
				t.Errorf("%s has no unsafe change", n.Name())
			}
			continue
		}
		text, err := n.YAML(checkout)
		if err != nil {
			t.Fatal(err)
		}
		var object operatorv1.Network
		if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		cluster := facts.Cluster{HostMTU: 1500}
		before := n.Provider.Default(&object.Spec, nil, cluster)
		next := object.Spec.DeepCopy()
		n.Unsafe(next)
		if errs := n.Provider.CheckChange(before, n.Provider.Default(next, before, cluster)); len(errs) == 0 {
			t.Errorf("%s does not refuse it", n.Name())
		}
	}
}

func TestFilesOfTheTableAreOfTheirNetworks(t *testing.T) {
	for _, n := range All() {
		t.Run(n.Name(), func(t *testing.T) {
			text, err := n.YAML(checkout)
			if err != nil {
				t.Fatal(err)
			}
			var object operatorv1.Network
			if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			if object.Spec.DefaultNetwork.Type != n.Type || object.Name != operatorv1.NetworkName {
				t.Errorf("%s is Network %s of the type %s", n.Object, object.Name, object.Spec.DefaultNetwork.Type)
			}
			if got := n.Traits().Type; got != n.Type {
				t.Errorf("the provider is that of %s", got)
			}
			if n.Manifest != "" {
				if _, err := os.Stat(filepath.Join(checkout.Root, n.Manifest)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestOperandsAreThoseOfTheNetworkAndOfItsComponents(t *testing.T) {
	for name, want := range map[string]string{
		"Flannel":    "openshift-flannel/flanneld openshift-kube-proxy/openshift-kube-proxy openshift-multus/multus",
		"ThirdParty": "openshift-kube-proxy/openshift-kube-proxy openshift-multus/multus",
		"Toy":        "openshift-toy/toy-agent openshift-kube-proxy/openshift-kube-proxy openshift-multus/multus",
	} {
		n, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, key := range n.Agents() {
			got = append(got, key.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has the agents %v, want %s", name, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	if n, err := Find(""); err != nil || n.Type != All()[0].Type {
		t.Errorf("without a name: %s, %v", n.Type, err)
	}
	if _, err := Find("Flanel"); err == nil || !strings.Contains(err.Error(), "choose Flannel, ") {
		t.Errorf("a name that is not in the table: %v", err)
	}
}

func TestYAMLIsChanged(t *testing.T) {
	text, err := All()[0].YAML(checkout, func(s *operatorv1.NetworkSpec) { s.LogLevel = "Debug" })
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for _, want := range []string{"apiVersion: operator.openshift.io/v1", "kind: Network", "  name: cluster", "  logLevel: Debug"} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no line %q:\n%s", want, text)
		}
	}
}
