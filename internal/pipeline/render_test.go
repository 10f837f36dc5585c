package pipeline

import (
	"errors"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func TestRenderMarksAndOrdersEverything(t *testing.T) {
	res := mustRun(t, Input{Desired: spec(), Cluster: cluster()}, Render)
	got, err := manifest.Encode(append(res.Outputs[0].Output.Objects, res.Outputs[1].Output.Objects...))
	if err != nil {
		t.Fatal(err)
	}
	want := `---
apiVersion: v1
kind: Namespace
metadata:
  labels:
    app.kubernetes.io/managed-by: cluster-network-operator
    networkoperator.openshift.io/component: Flannel
  name: openshift-flannel
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  labels:
    app.kubernetes.io/managed-by: cluster-network-operator
    networkoperator.openshift.io/component: Flannel
  name: default-deny
  namespace: openshift-flannel
spec:
  podSelector: {}
  policyTypes:
  - Ingress
  - Egress
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  annotations:
    release.openshift.io/version: v9
  labels:
    app.kubernetes.io/managed-by: cluster-network-operator
    networkoperator.openshift.io/component: Flannel
  name: agent-0
  namespace: openshift-flannel
spec:
  template:
    metadata:
      labels:
        app: agent-0
        app.kubernetes.io/managed-by: cluster-network-operator
        networkoperator.openshift.io/component: Flannel
    spec:
      hostNetwork: true
---
apiVersion: v1
kind: ConfigMap
metadata:
  labels:
    app.kubernetes.io/managed-by: cluster-network-operator
    networkoperator.openshift.io/component: KubeProxy
  name: proxy-config
  namespace: openshift-kube-proxy
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	if res.MTU != 1500 || res.Outputs[0].Name != "Flannel" || res.Outputs[1].Name != "KubeProxy" {
		t.Errorf("MTU %d, outputs of %s and %s", res.MTU, res.Outputs[0].Name, res.Outputs[1].Name)
	}
}

func TestRenderDoesNotChangeWhatARendererKeeps(t *testing.T) {
	p := newPipeline()
	for range 2 {
		if _, err := p.Run(t.Context(), Input{Desired: spec(), Cluster: cluster()}, Render); err != nil {
			t.Fatal(err)
		}
	}
	if kept := p.Registry.Components[0].(fakeComponent).objects[0].Object; len(kept.GetLabels()) != 0 {
		t.Errorf("labels %v", kept.GetLabels())
	}
}

func TestNothingIsRenderedForThirdPartyNetworks(t *testing.T) {
	res := mustRun(t, Input{Desired: spec(typed("Calico"), podPools("10.0.0.0/16")), Cluster: cluster()}, Render)
	if len(res.Outputs) != 1 || res.Outputs[0].Name != "KubeProxy" {
		t.Errorf("outputs %v: want the components alone", res.Outputs)
	}
}

func TestDisabledComponentsAreNotRendered(t *testing.T) {
	res := mustRun(t, Input{Desired: spec(typed(ovn)), Cluster: cluster()}, Render)
	if len(res.Outputs) != 1 || res.Outputs[0].Name != "OVNKubernetes" {
		t.Errorf("outputs %v: want the network alone, it serves services itself", res.Outputs)
	}
}

func TestFailingComponentDoesNotBlockTheOthers(t *testing.T) {
	noImage := errors.New("no image")
	nameless := manifest.Object{Object: object("v1", "ConfigMap", "a", "").Object}
	same := object("v1", "Namespace", "", "openshift-flannel")
	twice := object("v1", "ConfigMap", "a", "b")
	broken := workload("Deployment", "x")
	broken.Object.Object["spec"] = map[string]any{"template": "none"}
	for _, tc := range []struct {
		why       string
		component fakeComponent
		want      string
	}{
		{"an image is missing", fakeComponent{err: noImage}, "Render of Broken: no image"},
		{"it has nothing to render with", fakeComponent{nothing: true}, "Bootstrap of Broken: bug in the operator"},
		{"an object has no name", fakeComponent{objects: []manifest.Object{nameless}}, "Render of Broken: object 1 of 1 has no apiVersion, kind or name"},
		{"there is no object", fakeComponent{objects: []manifest.Object{{}}}, "Render of Broken: object 1 of 1 has no apiVersion, kind or name"},
		{"an object of another component", fakeComponent{objects: []manifest.Object{same}}, "Namespace openshift-flannel is rendered twice: by Flannel and Broken"},
		{"the same object twice", fakeComponent{objects: []manifest.Object{twice, twice}}, "ConfigMap a/b is rendered twice: by Broken and Broken"},
		{"a workload without pods", fakeComponent{objects: []manifest.Object{broken}}, "Render of Broken: label the pods of Deployment openshift-flannel/x"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			tc.component.name = "Broken"
			p := newPipeline()
			p.Registry.Components = []provider.Component{tc.component, p.Registry.Components[0]}
			res, err := p.Run(t.Context(), Input{Desired: spec(), Cluster: cluster()}, Render)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Component != "Broken" {
				t.Errorf("error %v does not name the component", err)
			}
			counts := map[string]int{}
			for _, o := range res.Outputs {
				if counts[o.Name] = len(o.Output.Objects); (o.Err != nil) != (o.Name == "Broken") {
					t.Errorf("%s: error %v", o.Name, o.Err)
				}
			}
			if d := cmp.Diff(map[string]int{"Flannel": 3, "Broken": 0, "KubeProxy": 1}, counts); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEveryFailingComponentIsNamed(t *testing.T) {
	p := newPipeline()
	p.Registry.Providers[0] = fakeprovider.Network{With: flannelTraits(), Unobservable: errors.New("no etcd")}
	p.Registry.Components = []provider.Component{fakeComponent{name: "A", err: errors.New("no a")}, fakeComponent{name: "B", err: errors.New("no b")}}
	_, err := p.Run(t.Context(), Input{Desired: spec(), Cluster: cluster()}, Render)
	if want := "Bootstrap of Flannel: no etcd\nRender of A: no a\nRender of B: no b"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

func TestSameInputSameOutput(t *testing.T) {
	first := mustRun(t, Input{Desired: spec(), Cluster: cluster()}, Render)
	for range 5 {
		if d := cmp.Diff(first, mustRun(t, Input{Desired: spec(), Cluster: cluster()}, Render)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestNamespacesAreIsolated(t *testing.T) {
	onPods := workload("Deployment", "web")
	onPods.Object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"] = map[string]any{}
	onPods.Object.SetNamespace("openshift-web")
	elsewhere := manifest.Object{Object: onPods.Object.DeepCopy()}
	elsewhere.Object.SetNamespace("of-another-owner")
	namespace := object("v1", "Namespace", "", "openshift-web")
	rules := []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(80))}}}}
	for why, tc := range map[string]struct {
		objects []manifest.Object
		table   []provider.Workload
		want    []string
	}{
		"a workload that needs nothing":        {[]manifest.Object{namespace, onPods}, []provider.Workload{{Name: "web"}}, []string{"openshift-web/default-deny"}},
		"a workload with rules":                {[]manifest.Object{onPods, namespace}, []provider.Workload{{Name: "web", Ingress: rules}}, []string{"openshift-web/default-deny", "openshift-web/web"}},
		"a workload that no table has":         {[]manifest.Object{namespace, onPods}, nil, []string{"openshift-web/default-deny"}},
		"a namespace that another owner makes": {[]manifest.Object{elsewhere}, []provider.Workload{{Name: "web", Ingress: rules}}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			p := newPipeline()
			p.Registry.Components = []provider.Component{tableOf{fakeComponent{name: "Web", objects: tc.objects}, tc.table}}
			res, err := p.Run(t.Context(), Input{Desired: spec(), Cluster: cluster()}, Render)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range res.Outputs[1].Output.Objects {
				if o.Object.GetKind() == "NetworkPolicy" {
					got = append(got, o.Object.GetNamespace()+"/"+o.Object.GetName())
				}
			}
			slices.Sort(got)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// tableOf is a component with a table of workloads.
type tableOf struct {
	fakeComponent
	table []provider.Workload
}

func (c tableOf) Workloads() []provider.Workload { return c.table }

func TestWorkloadsUseThePullSecret(t *testing.T) {
	known := cluster()
	for name, want := range map[string]int{"": 0, "pull": 1} {
		known.PullSecret = name
		res, err := newPipeline().Run(t.Context(), Input{Desired: spec(), Cluster: known}, Render)
		if err != nil {
			t.Fatal(err)
		}
		workloads := 0
		for _, out := range res.Outputs {
			for _, o := range out.Output.Objects {
				secrets, has, _ := unstructured.NestedSlice(o.Object.Object, "spec", "template", "spec", "imagePullSecrets")
				if manifest.IsWorkload(o.Key().GroupKind()) {
					workloads++
				} else if has {
					t.Errorf("%s has a pull secret", o.Key())
				}
				if manifest.IsWorkload(o.Key().GroupKind()) && len(secrets) != want {
					t.Errorf("%q: %s has the pull secrets %v", name, o.Key(), secrets)
				}
			}
		}
		if workloads == 0 {
			t.Error("nothing is rendered that pulls an image")
		}
	}
}
