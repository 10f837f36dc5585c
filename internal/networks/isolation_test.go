package networks

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// monitor and stranger are pods of other namespaces, resolver is one of the cluster's DNS.
var (
	monitor, stranger, resolver = netpolicy.ID{Namespace: "monitoring", Name: "prometheus"}, netpolicy.ID{Namespace: "tenant", Name: "shop"}, netpolicy.ID{Namespace: "dns", Name: "resolver"}
	checkSource, checkTarget    = netpolicy.ID{Namespace: "openshift-network-diagnostics", Name: "network-check-source"}, netpolicy.ID{Namespace: "openshift-network-diagnostics", Name: "network-check-target"}
)

// client is a pod or an address, and whether it may connect to a port.
type client struct {
	from    netpolicy.ID
	allowed bool
}

// server is a pod or, if that is empty, an address outside of the pods.
type server struct {
	to       netpolicy.ID
	address  string
	protocol corev1.Protocol
	port     uint16
	allowed  bool
}

// needs are the connections of every workload on the pod network, by the label app of its pods: who may connect to each of its
// container ports, and to what its pods may connect.
var needs = map[string]struct {
	ports map[uint16][]client
	to    []server
}{
	"network-check-source": {
		ports: map[uint16][]client{17698: {{monitor, true}, {stranger, true}, {netpolicy.ID{}, true}}},
		to: []server{
			{checkTarget, "", corev1.ProtocolTCP, 8080, true},
			{resolver, "", corev1.ProtocolUDP, 53, true}, {resolver, "", corev1.ProtocolTCP, 53, true}, {resolver, "", corev1.ProtocolUDP, 5353, true},
			{netpolicy.ID{}, "192.0.2.1", corev1.ProtocolTCP, 6443, true}, {netpolicy.ID{}, "10.96.0.1", corev1.ProtocolTCP, 443, true},
			{netpolicy.ID{}, "192.0.2.1", corev1.ProtocolTCP, 16443, true}, {netpolicy.ID{}, "2001:db8::1", corev1.ProtocolTCP, 6443, true},
			{netpolicy.ID{}, "192.0.2.1", corev1.ProtocolUDP, 8472, false}, {stranger, "", corev1.ProtocolSCTP, 80, false},
		},
	},
	"network-check-target": {
		ports: map[uint16][]client{8080: {{checkSource, true}, {stranger, false}, {monitor, false}, {netpolicy.ID{}, false}}},
		to: []server{
			{resolver, "", corev1.ProtocolUDP, 53, false}, {stranger, "", corev1.ProtocolTCP, 8080, false},
			{netpolicy.ID{}, "192.0.2.1", corev1.ProtocolTCP, 6443, false},
		},
	},
}

// TestNamespacesOfOperandsAreIsolated renders every network, and holds the NetworkPolicies against what pods need.
func TestNamespacesOfOperandsAreIsolated(t *testing.T) {
	checked := map[string]bool{}
	for name, change := range map[string]func(*operatorv1.NetworkSpec){
		"flannel": func(*operatorv1.NetworkSpec) {},
		"flannel with an external etcd": func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{Etcd: &operatorv1.FlannelEtcd{External: &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://192.0.2.1:2379"}}}}
		},
		"OVN-Kubernetes":           func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = operatorv1.NetworkTypeOVNKubernetes },
		"network of a third party": func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = "Calico" },
		"no kube-proxy":            func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(false) },
	} {
		t.Run(name, func(t *testing.T) {
			spec := network()
			change(spec)
			res, err := pipeline.Pipeline{Registry: Registry()}.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: known()}, pipeline.Render)
			if err != nil {
				t.Fatal(err)
			}
			var in netpolicy.Input
			var pods []*appsv1.DaemonSet // as far as a Deployment is one
			for _, out := range res.Outputs {
				for _, o := range out.Output.Objects {
					pods = observe(t, &in, o.Object, pods)
				}
			}
			for _, ns := range in.Namespaces {
				if !slices.ContainsFunc(in.Policies, func(p *networkingv1.NetworkPolicy) bool { return p.Namespace == ns.Name && deniesAll(p) }) {
					t.Errorf("namespace %s has no NetworkPolicy that denies all traffic", ns.Name)
				}
				if !slices.Contains(admission.Namespaces(Registry().Operands()), ns.Name) {
					t.Errorf("namespace %s: the operator may write no NetworkPolicy there", ns.Name)
				}
			}
			for _, w := range pods {
				checked[w.Spec.Template.Labels["app"]] = true
				meetsNeeds(t, in, w)
			}
		})
	}
	for app := range needs {
		if !checked[app] {
			t.Errorf("%s was not checked", app)
		}
	}
}

// observe adds a rendered object to what policies see, and its workload, if it is one on the pod network, to the others.
func observe(t *testing.T, in *netpolicy.Input, o *unstructured.Unstructured, pods []*appsv1.DaemonSet) []*appsv1.DaemonSet {
	t.Helper()
	switch {
	case o.GetKind() == "Namespace":
		in.Namespaces = append(in.Namespaces, netpolicy.Namespace{Name: o.GetName(), Labels: o.GetLabels()})
	case o.GetKind() == "NetworkPolicy":
		in.Policies = append(in.Policies, as[networkingv1.NetworkPolicy](t, o))
	case manifest.IsWorkload(manifest.KeyOf(o).GroupKind()):
		if w := as[appsv1.DaemonSet](t, o); !w.Spec.Template.Spec.HostNetwork {
			in.Pods = append(in.Pods, netpolicy.Pod{ID: netpolicy.ID{Namespace: w.Namespace, Name: w.Spec.Template.Labels["app"]}, Labels: w.Spec.Template.Labels})
			return append(pods, w)
		}
	}
	return pods
}

// as returns an object as one of a type. Kinds of workloads have the same template of pods.
func as[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

// deniesAll reports whether a policy selects every pod of its namespace and allows nothing.
func deniesAll(p *networkingv1.NetworkPolicy) bool {
	return len(p.Spec.PodSelector.MatchLabels)+len(p.Spec.PodSelector.MatchExpressions)+len(p.Spec.Ingress)+len(p.Spec.Egress) == 0 &&
		slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) && slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
}

// meetsNeeds tries the connections of a workload on the pod network.
func meetsNeeds(t *testing.T, in netpolicy.Input, w *appsv1.DaemonSet) {
	t.Helper()
	app := w.Spec.Template.Labels["app"]
	need, listed := needs[app]
	if !listed {
		t.Errorf("%s is on the pod network: list what its pods need", app)
	}
	for _, other := range []netpolicy.ID{monitor, stranger, resolver} {
		in.Namespaces = append(slices.Clone(in.Namespaces), netpolicy.Namespace{Name: other.Namespace})
		in.Pods = append(slices.Clone(in.Pods), netpolicy.Pod{ID: other})
	}
	result := netpolicy.Translate(in)
	if len(result.Problems) > 0 {
		t.Errorf("NetworkPolicies have problems: %v", result.Problems)
	}
	self := netpolicy.End{Pod: netpolicy.ID{Namespace: w.Namespace, Name: app}}
	for _, c := range w.Spec.Template.Spec.Containers {
		for _, p := range c.Ports {
			if len(need.ports[uint16(p.ContainerPort)]) == 0 {
				t.Errorf("%s has the port %d: list who may connect to it", app, p.ContainerPort)
			}
		}
	}
	for port, all := range need.ports {
		for _, c := range all {
			try(t, result, netpolicy.Connection{From: end(c.from, "192.0.2.9"), To: self, Protocol: corev1.ProtocolTCP, Port: port}, c.allowed)
			try(t, result, netpolicy.Connection{From: end(c.from, "192.0.2.9"), To: self, Protocol: corev1.ProtocolTCP, Port: port + 1}, false)
		}
	}
	for _, s := range need.to {
		try(t, result, netpolicy.Connection{From: self, To: end(s.to, s.address), Protocol: s.protocol, Port: s.port}, s.allowed)
	}
}

// end is a pod, or else an address.
func end(pod netpolicy.ID, address string) netpolicy.End {
	if pod != (netpolicy.ID{}) {
		return netpolicy.End{Pod: pod}
	}
	return netpolicy.End{Address: netip.MustParseAddr(address)}
}

func try(t *testing.T, result netpolicy.Result, c netpolicy.Connection, want bool) {
	t.Helper()
	if v := result.Allowed(c); v.Allowed != want {
		t.Errorf("%v -> %v %s %d: allowed is %v, want %v (%+v)", c.From, c.To, c.Protocol, c.Port, v.Allowed, want, v)
	}
}

// TestInstalledNamespacesAreIsolated looks at the namespaces that config has and the pipeline does not render: their pods are all on
// the nodes' network, and nothing is allowed.
func TestInstalledNamespacesAreIsolated(t *testing.T) {
	namespaces, isolated, byPipeline := map[string]string{}, map[string]bool{}, map[string]bool{}
	for path, objects := range rendered(t) {
		for _, o := range objects {
			ns, isNamespace := o.(*corev1.Namespace)
			switch p, isPolicy := o.(*networkingv1.NetworkPolicy); {
			case isNamespace && strings.Contains(path, "/config/"):
				namespaces[ns.Name] = path
			case isNamespace:
				byPipeline[ns.Name] = true
			case isPolicy && deniesAll(p):
				isolated[p.Namespace] = true
			}
		}
	}
	for path, objects := range rendered(t) {
		for _, o := range objects {
			if pod := podOf(o); pod != nil && isolated[o.GetNamespace()] && !pod.HostNetwork {
				t.Errorf("%s: %s is on the pod network of a namespace that denies all of its traffic", path, manifest.KeyOf(o))
			}
		}
	}
	for name, path := range namespaces {
		if !isolated[name] && !byPipeline[name] {
			t.Errorf("%s: namespace %s has no NetworkPolicy that denies all traffic", path, name)
		}
	}
	if len(namespaces) < 3 {
		t.Errorf("namespaces of config: %v", namespaces)
	}
}
