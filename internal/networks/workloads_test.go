package networks

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/multus"
)

// TestTableOfWorkloadsMatchesRenderedObjects: names, kinds and environments of the table are those of the objects.
func TestTableOfWorkloadsMatchesRenderedObjects(t *testing.T) {
	known, seen := map[string]provider.Workload{}, map[string]bool{}
	var names []string
	for _, w := range Registry().Workloads() {
		known[w.Name] = w
		names = append(names, w.Name)
	}
	for path, objects := range rendered(t) {
		if !strings.Contains(path, "/providers/") || strings.Contains(path, "/providers/toy/") { // no release has the toy network
			continue
		}
		for _, o := range objects {
			pod := podOf(o)
			if pod == nil {
				continue
			}
			d, rolls := o.(*appsv1.DaemonSet)
			labels := map[string]string{}
			if rolls {
				labels = d.Spec.Template.Labels
			} else if d, ok := o.(*appsv1.Deployment); ok {
				labels = d.Spec.Template.Labels
			}
			w, ok := known[labels["app"]]
			if !ok {
				t.Errorf("%s: pods with the label app=%q are in no table: add them to Workloads of the provider", path, labels["app"])
				continue
			}
			seen[w.Name] = true
			var env []string
			for _, v := range pod.Containers[0].Env {
				env = append(env, v.Name)
			}
			if w.Rolling != rolls {
				t.Errorf("%s: %s is a DaemonSet: %v, the table has %v", path, w.Name, rolls, w.Rolling)
			}
			for _, name := range env {
				if !slices.Contains(w.Env, name) {
					t.Errorf("%s: the operator sets %s in %s, and the table lacks it", path, name, w.Name)
				}
			}
		}
	}
	// Controllers of their own render these, and test it.
	seen[multus.AllowlistApp], seen[multus.EgressRouterApp] = true, true
	for _, name := range names {
		if !seen[name] {
			t.Errorf("%s is in the table and not rendered", name)
		}
	}
	var enum []string
	for _, v := range definition(t).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["workloads"].Items.Schema.Properties["name"].Enum {
		enum = append(enum, strings.Trim(string(v.Raw), `"`))
	}
	slices.Sort(enum)
	if diff := cmp.Diff(names, enum); diff != "" {
		t.Errorf("names of the table and of the CRD: %s", diff)
	}
}

// network is one with flannel and kube-proxy, and with overrides.
func network(all ...operatorv1.Workload) *operatorv1.NetworkSpec {
	return &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel},
		Workloads:      all,
	}
}

func known() facts.Cluster {
	return facts.Cluster{HostMTU: 1500, ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "192.0.2.1", Port: 6443}, Images: facts.Images{
		"NETWORK_OPERATOR_IMAGE": "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "OVN_IMAGE": "v:v1", "SDN_IMAGE": "s:v1", "KUBE_PROXY_IMAGE": "k:v1",
		"MULTUS_IMAGE": "m:v1",
	}}
}

func TestEveryProblemOfWorkloadsIsReportedAtOnce(t *testing.T) {
	quantity := resource.MustParse
	spec := network(
		operatorv1.Workload{Name: "coredns"},
		operatorv1.Workload{
			Name:         "flanneld",
			NodeSelector: map[string]string{"a": "b"}, Affinity: &corev1.Affinity{}, PriorityClassName: "Very High",
			Resources: &operatorv1.WorkloadResources{
				Requests: corev1.ResourceList{"cpu": quantity("2"), "memory": quantity("-1")}, Limits: corev1.ResourceList{"cpu": quantity("1")},
			},
			Tolerations: []corev1.Toleration{
				{Operator: "Exists", Value: "v"}, {Operator: "In", Key: "k"}, {Effect: "Never", Key: "k"}, {Key: "k", TolerationSeconds: new(int64(5))}, {},
			},
			Env:            []operatorv1.WorkloadVariable{{Name: "NODE_NAME"}, {Name: "1=2"}, {Name: "A"}, {Name: "A"}},
			UpdateStrategy: &operatorv1.WorkloadUpdateStrategy{MaxUnavailable: intstr.FromString("0%")},
		},
		operatorv1.Workload{Name: "network-check-source", NodeSelector: map[string]string{"a b": "c"}, UpdateStrategy: &operatorv1.WorkloadUpdateStrategy{MaxUnavailable: intstr.FromInt32(1)}},
		operatorv1.Workload{Name: "kube-proxy", UpdateStrategy: &operatorv1.WorkloadUpdateStrategy{MaxUnavailable: intstr.FromInt32(0)}},
		operatorv1.Workload{Name: "kube-proxy"},
	)
	_, err := pipeline.Pipeline{Registry: Registry()}.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: known()}, pipeline.Check)
	want := []string{
		`spec.workloads[0].name: "coredns" is not a workload of the operator; use one of cni-sysctl-allowlist-ds, egress-router-cni, flannel-etcd, flannel-etcd-snapshots, flannel-metrics, flanneld, kube-proxy, kube-proxy-metrics, multus, multus-metrics, network-check-source, network-check-target, ovn-ipsec, ovnkube, ovnkube-master, ovnkube-metrics, ovs, sdn, sdn-controller, sdn-metrics (workload-name)`,
		`spec.workloads[1].nodeSelector: must not be set for flanneld: the operator decides which nodes it runs on; remove it (workload-placement)`,
		`spec.workloads[1].affinity: must not be set for flanneld: the operator decides which nodes it runs on; remove it (workload-placement)`,
		`spec.workloads[1].resources.requests[cpu]: "2" is more than its limit, 1; lower it, or raise the limit (workload-resources)`,
		`spec.workloads[1].resources.requests[memory]: "-1" is below zero; use 0 or more (workload-resources)`,
		`spec.workloads[1].tolerations[0].value: "v" has no effect with operator Exists; remove it, or use operator Equal (workload-tolerations)`,
		`spec.workloads[1].tolerations[1].operator: "In" is not an operator; use Exists or Equal (workload-tolerations)`,
		`spec.workloads[1].tolerations[2].effect: "Never" is not the effect of a taint; use NoSchedule, PreferNoSchedule or NoExecute, or leave it out (workload-tolerations)`,
		`spec.workloads[1].tolerations[3].tolerationSeconds: 5 needs the effect NoExecute; set that, or remove it (workload-tolerations)`,
		`spec.workloads[1].tolerations[4].operator: "" needs a key; set key, or use operator Exists (workload-tolerations)`,
		`spec.workloads[1].env[0].name: "NODE_NAME" is set by the operator; remove it (workload-env)`,
		`spec.workloads[1].env[1].name: "1=2" cannot be the name of a variable; use letters, digits, underscores, dashes and dots, and begin without a digit (workload-env)`,
		`spec.workloads[1].env[3].name: "A" is the name of env[2] already; remove one (workload-env)`,
		`spec.workloads[1].updateStrategy.maxUnavailable: "0%" is not a number of nodes; use 1 or more, or 1% to 100% (workload-update-strategy)`,
		`spec.workloads[1].priorityClassName: "Very High" cannot be the name of a PriorityClass; use lower-case letters, digits, dashes and dots (workload-priority-class)`,
		`spec.workloads[2].nodeSelector: "a b=c" is not a label of a node; write a key and a value as kubectl get nodes --show-labels prints them (workload-placement)`,
		`spec.workloads[2].updateStrategy: must not be set for network-check-source: it is a Deployment, whose pods are replaced one at a time; remove it (workload-update-strategy)`,
		`spec.workloads[3].updateStrategy.maxUnavailable: "0" is not a number of nodes; use 1 or more, or 1% to 100% (workload-update-strategy)`,
		`spec.workloads[4].name: "kube-proxy" is the name of spec.workloads[3] already; merge the two (workload-name)`,
	}
	if diff := cmp.Diff(want, texts(pipeline.RefusalsOf(err))); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
}

// workload returns the rendered workload of a kind and a name.
func workload[T any](t *testing.T, res pipeline.Result, kind, name string) *T {
	t.Helper()
	for _, out := range res.Outputs {
		for _, o := range out.Output.Objects {
			if o.Object.GetKind() == kind && o.Object.GetName() == name {
				typed := new(T)
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, typed); err != nil {
					t.Fatal(err)
				}
				return typed
			}
		}
	}
	t.Fatalf("%s %s is not rendered", kind, name)
	return nil
}

func TestOverridesAreRendered(t *testing.T) {
	p := pipeline.Pipeline{Registry: Registry()}
	plain, err := p.Run(t.Context(), pipeline.Input{Desired: network(), Cluster: known()}, pipeline.Render)
	if err != nil {
		t.Fatal(err)
	}
	most := intstr.FromString("25%")
	extra := corev1.Toleration{Key: "gpu", Operator: "Exists"}
	res, err := p.Run(t.Context(), pipeline.Input{Desired: network(operatorv1.Workload{
		Name: "kube-proxy", PriorityClassName: "network", Tolerations: []corev1.Toleration{extra}, Env: []operatorv1.WorkloadVariable{{Name: "A", Value: "b"}},
		Resources: &operatorv1.WorkloadResources{
			Requests: corev1.ResourceList{"memory": resource.MustParse("200Mi")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("50m")},
		},
		UpdateStrategy: &operatorv1.WorkloadUpdateStrategy{MaxUnavailable: most},
	}), Cluster: known()}, pipeline.Render)
	if err != nil {
		t.Fatal(err)
	}
	want, got := workload[appsv1.DaemonSet](t, plain, "DaemonSet", "openshift-kube-proxy"), workload[appsv1.DaemonSet](t, res, "DaemonSet", "openshift-kube-proxy")
	pod := &want.Spec.Template.Spec
	pod.PriorityClassName, pod.Tolerations = "network", append(pod.Tolerations, extra)
	pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "A", Value: "b"})
	pod.Containers[0].Resources = corev1.ResourceRequirements{ // the request for CPU of 100m is lowered to the limit
		Requests: corev1.ResourceList{"memory": resource.MustParse("200Mi"), "cpu": resource.MustParse("50m")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("50m")},
	}
	want.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &most
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(others(plain), others(res)); diff != "" {
		t.Errorf("other workloads than kube-proxy changed: %s", diff)
	}
	if len(res.Ineffective) > 0 {
		t.Errorf("reported as without effect: %v", res.Ineffective)
	}
}

// others returns everything that is rendered but the DaemonSet of kube-proxy.
func others(res pipeline.Result) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, out := range res.Outputs {
		for _, o := range out.Output.Objects {
			if o.Object.GetName() != "openshift-kube-proxy" || o.Object.GetKind() != "DaemonSet" {
				all = append(all, o.Object)
			}
		}
	}
	return all
}

func TestOverrideOfAnUndeployedWorkloadIsNamed(t *testing.T) {
	spec := network(operatorv1.Workload{Name: "flanneld", PriorityClassName: "network"}, operatorv1.Workload{Name: "kube-proxy"})
	spec.DefaultNetwork.Type, spec.DeployKubeProxy = "Calico", new(false)
	res, err := pipeline.Pipeline{Registry: Registry()}.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: known()}, pipeline.Check)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"spec.workloads[0]: has no effect: this configuration does not deploy flanneld; remove it (no-effect)",
		"spec.workloads[1]: has no effect: this configuration does not deploy kube-proxy; remove it (no-effect)",
	}
	if diff := cmp.Diff(want, texts(res.Ineffective)); diff != "" {
		t.Error(diff)
	}
}

func TestOverridesWaitForTheEndOfAMigration(t *testing.T) {
	p := pipeline.Pipeline{Registry: Registry()}
	applied := network()
	cluster := known()
	cluster.MTUMigration.Active = true
	_, err := p.Run(t.Context(), pipeline.Input{Desired: network(operatorv1.Workload{Name: "flanneld", PriorityClassName: "network"}), Applied: applied, Cluster: cluster}, pipeline.Check)
	if !pipeline.RefusalsOf(err).Has(pipeline.RuleDuringMigration) {
		t.Errorf("got %v", err)
	}
}

// TestTheRulesOfWorkloadsNameThemAll: the API server's rules list the workloads by what their networks and components declare.
func TestTheRulesOfWorkloadsNameThemAll(t *testing.T) {
	var placed, fixed []string
	for _, w := range Registry().Workloads() {
		if w.Placed {
			placed = append(placed, w.Name)
		}
		if !w.Rolling {
			fixed = append(fixed, w.Name)
		}
	}
	named := regexp.MustCompile(`'([a-z-]+)'`)
	checked := 0
	for _, r := range rules.All() {
		want, concerned := map[string][]string{"workload-placement": placed, "workload-update-strategy": fixed}[r.Sentence.Rule()]
		if !concerned || !strings.Contains(r.Valid, "self.name in") {
			continue
		}
		checked++
		var names []string
		for _, match := range named.FindAllStringSubmatch(r.Valid, -1) {
			names = append(names, match[1])
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("rule %s for %s (-networks +rule):\n%s", r.Sentence.Rule(), r.Field, diff)
		}
	}
	if checked != 3 {
		t.Errorf("%d rules list workloads, want 3", checked)
	}
}
