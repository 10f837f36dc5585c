package openshiftsdn

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/providers/kubeproxy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// cluster is one with a control-plane node, on plain Kubernetes.
func cluster() facts.Cluster {
	address := []netip.Addr{netip.MustParseAddr("192.0.2.10")}
	return facts.Cluster{
		Platform: "None", HostMTU: 1500, ReleaseVersion: "v1.2.0", APIServer: facts.HostPort{Host: "192.0.2.100", Port: 6443}, NodeCount: 1,
		NodeAddresses: map[string][]netip.Addr{"cp-0": address}, ControlPlane: []facts.Node{{Name: "cp-0", UID: "cp-0-uid", Addresses: address}},
		Images: facts.Images{Image: "registry.test/sdn:v1", serviceproxy.ImageVariable: "registry.test/kube-proxy:v1", facts.OperatorImage: "registry.test/cno:v1"},
	}
}

// network is one with settings that are changed by a function, which may be nil.
func network(change func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
	spec := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOpenShiftSDN},
	}
	if change != nil {
		change(spec)
	}
	return spec
}

// run runs the whole pipeline with the network in its list.
func run(t *testing.T, in pipeline.Input) (pipeline.Result, error) {
	t.Helper()
	p := pipeline.Pipeline{Registry: pipeline.Registry{Providers: []provider.Provider{New()}, Components: []provider.Component{kubeproxy.New()}}}
	return p.Run(t.Context(), in, pipeline.Render)
}

// output is what is rendered of the network itself.
func output(t *testing.T, spec *operatorv1.NetworkSpec, reader client.Reader, f facts.Cluster) provider.Output {
	t.Helper()
	res, err := run(t, pipeline.Input{Desired: spec, Cluster: f, Reader: reader})
	if err != nil {
		t.Fatal(err)
	}
	return res.Outputs[0].Output
}

// TestRender compares what is rendered for testdata/*.in.yaml with testdata/*.out.yaml.
func TestRender(t *testing.T) {
	onOpenShift := cluster()
	onOpenShift.Platform = "BareMetal"
	clusters := map[string]facts.Cluster{"offline": {Images: facts.Images{"": "%s"}, HostMTU: 1500}, "openshift": onOpenShift}
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) < 6 {
		t.Fatalf("inputs %v: %v", inputs, err)
	}
	for _, in := range inputs {
		name := strings.TrimSuffix(filepath.Base(in), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			docs, err := manifest.DecodeAll(os.DirFS("testdata"), filepath.Base(in))
			if err != nil {
				t.Fatal(err)
			}
			f, known := clusters[name]
			if !known {
				f = cluster()
			}
			out := output(t, &docs[0].(*operatorv1.Network).Spec, nil, f)
			got, err := manifest.Encode(out.Objects)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+name+".out.yaml", got)
		})
	}
}

// TestTheShortFormGivesTheSameObjects: a NetworkConfig as the first version of the operator documented it, with every setting.
func TestTheShortFormGivesTheSameObjects(t *testing.T) {
	const short = `
apiVersion: networkoperator.openshift.io/v1
kind: NetworkConfig
metadata: {name: default}
spec:
  serviceNetwork: 172.30.0.0/16
  clusterNetworks:
  - {cidr: 10.128.0.0/14, hostSubnetLength: 9}
  defaultNetwork:
    type: OpenShiftSDN
    openshiftSDNConfig: {mode: NetworkPolicy, vxlanPort: 4789, mtu: 1450, useExternalOpenvswitch: false}
`
	object, err := manifest.Decode[networkoperatorv1.NetworkConfig](fstest.MapFS{"short.yaml": {Data: []byte(short)}}, "short.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, errs := networkconfig.Convert(&object.Spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got, err := manifest.Encode(output(t, spec, nil, cluster()).Objects)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/networkpolicy.out.yaml", got)
}

// daemonSet returns a rendered DaemonSet; nil if it is not rendered.
func daemonSet(t *testing.T, out provider.Output, name string) *appsv1.DaemonSet {
	t.Helper()
	i := slices.IndexFunc(out.Objects, func(o manifest.Object) bool { return o.Key().Kind == "DaemonSet" && o.Key().Name == name })
	if i < 0 {
		return nil
	}
	d := &appsv1.DaemonSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(out.Objects[i].Object.Object, d); err != nil {
		t.Fatal(err)
	}
	return d
}

var names = []string{agentconfig.Switch, agentconfig.Node, agentconfig.Controller}

// TestDaemonSetsAreUpdatedOneAfterTheOther renders with a cluster in which DaemonSets of a version run on three nodes.
func TestDaemonSetsAreUpdatedOneAfterTheOther(t *testing.T) {
	ready := func(name string, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}}
	}
	at := func(version string, sets ...*appsv1.DaemonSet) {
		for _, d := range sets {
			d.Annotations[manifest.AnnotationVersion] = version
		}
	}
	for _, tc := range []struct {
		why     string
		from    string
		change  func(ovs, sdn, controller *appsv1.DaemonSet)
		held    []string
		message string
	}{
		{"an upgrade begins with Open vSwitch", "v1.1.0", nil, names[1:], "waits for version v1.2.0 of ovs on 3 of 3 nodes before it replaces sdn"},
		{"... and agents wait for the last node", "v1.1.0", func(ovs, _, _ *appsv1.DaemonSet) { at("v1.2.0", ovs); ovs.Status.UpdatedNumberScheduled = 1 }, names[1:], "ovs on 1 of 3 nodes"},
		{"... but not for a node that is down", "v1.1.0", func(ovs, _, _ *appsv1.DaemonSet) { at("v1.2.0", ovs); ovs.Status.NumberAvailable = 2 }, names[2:], "waits for version v1.2.0 of sdn on 3 of 3 nodes before it replaces sdn-controller"},
		{"... and not for what the DaemonSet controller has not seen yet", "v1.1.0", func(ovs, _, _ *appsv1.DaemonSet) { at("v1.2.0", ovs); ovs.Generation = 2 }, names[1:], "ovs on 3 of 3 nodes"},
		{"... and ends with the controller", "v1.1.0", func(ovs, sdn, _ *appsv1.DaemonSet) { at("v1.2.0", ovs, sdn) }, nil, ""},
		{"a downgrade begins with the controller", "v1.3.0", nil, names[:2], "waits for version v1.2.0 of sdn-controller on 3 of 3 nodes before it replaces sdn"},
		{"... continues with agents", "v1.3.0", func(_, _, controller *appsv1.DaemonSet) { at("v1.2.0", controller) }, names[:1], "waits for version v1.2.0 of sdn on 3 of 3 nodes before it replaces ovs"},
		{"... and ends with Open vSwitch", "v1.3.0", func(_, sdn, controller *appsv1.DaemonSet) { at("v1.2.0", sdn, controller) }, nil, ""},
		{"nothing has changed", "v1.2.0", nil, nil, ""},
		{"a change of settings has no order", "v1.2.0", func(ovs, _, _ *appsv1.DaemonSet) { ovs.Status.UpdatedNumberScheduled = 0 }, nil, ""},
		{"versions that cannot be compared", "main", nil, nil, ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			f := cluster()
			f.ReleaseVersion = tc.from
			before := output(t, network(nil), nil, f)
			var sets []*appsv1.DaemonSet
			for _, name := range names {
				d := daemonSet(t, before, name)
				d.Generation, d.Status = 1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3}
				sets = append(sets, d)
			}
			if tc.change != nil {
				tc.change(sets[0], sets[1], sets[2])
			}
			reader := fake.NewClientBuilder().WithScheme(manifest.Scheme()).WithObjects(sets[0], sets[1], sets[2],
				ready("a", corev1.ConditionTrue), ready("b", corev1.ConditionTrue), ready("c", corev1.ConditionUnknown)).Build()
			out := output(t, network(nil), reader, cluster())
			if !strings.Contains(out.Waiting, tc.message) || (out.Waiting == "") != (tc.message == "") {
				t.Errorf("waiting: %q, want %q", out.Waiting, tc.message)
			}
			for _, name := range names {
				if rendered := daemonSet(t, out, name) != nil; rendered == slices.Contains(tc.held, name) {
					t.Errorf("%s is rendered: %v", name, rendered)
				}
			}
		})
	}
}

// TestNodesWithoutABlockAreNamed: the condition has the reason and the nodes, while all blocks are in use.
func TestNodesWithoutABlockAreNamed(t *testing.T) {
	small := network(func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork = []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/22", HostPrefix: 23}} // two blocks
	})
	node := func(name string, i int) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprint("192.0.2.", i)}},
		}}
	}
	has := func(name string, i int) *sdnv1.HostSubnet {
		return &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{sdnv1.AnnotationNodeUID: name}},
			Host: name, HostIP: fmt.Sprint("192.0.2.", i), Subnet: fmt.Sprintf("10.128.%d.0/23", 2*(i-1))}
	}
	for _, tc := range []struct {
		why     string
		objects []client.Object
		want    string
	}{
		{"each has one", []client.Object{node("a", 1), node("b", 2), has("a", 1), has("b", 2)}, ""},
		{"the controller has not given out one that is free yet", []client.Object{node("a", 1), node("b", 2), has("a", 1)}, ""},
		{"two wait", []client.Object{node("a", 1), node("b", 2), node("c", 3), node("d", 4), has("a", 1), has("b", 2)},
			"SubnetsExhausted: all blocks of the cluster network are in use; nodes without one, whose pods do not start: c and d"},
		{"a host that is no node has the last one", []client.Object{node("a", 1), node("b", 2), has("a", 1), &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: "f5"}, Host: "f5", HostIP: "192.0.2.9", Subnet: "10.128.2.0/23"}},
			"SubnetsExhausted: all blocks of the cluster network are in use; nodes without one, whose pods do not start: b"},
	} {
		known := runtime.NewScheme()
		if err := errors.Join(scheme.AddToScheme(known), sdnv1.AddToScheme(known)); err != nil {
			t.Fatal(err)
		}
		out := output(t, small, fake.NewClientBuilder().WithScheme(known).WithObjects(tc.objects...).Build(), cluster())
		var got []string
		for _, f := range out.Failures {
			got = append(got, f.Reason+": "+f.Message)
		}
		if strings.Join(got, "; ") != tc.want || (out.Again > 0) != (tc.want != "") {
			t.Errorf("%s: %q, again after %v, want %q", tc.why, got, out.Again, tc.want)
		}
	}
}

// TestModesThatIgnorePoliciesHaveANote: the note names the mode and the way out.
func TestModesThatIgnorePoliciesHaveANote(t *testing.T) {
	ignored := func(mode string) []provider.Note {
		return []provider.Note{{Reason: "NetworkPoliciesNotEnforced",
			Message: "NetworkPolicies are not enforced in mode " + mode + "; to enforce them, create a cluster with mode NetworkPolicy, or with network type OVNKubernetes"}}
	}
	for _, tc := range []struct {
		why  string
		mode osv1.SDNMode
		want []provider.Note
	}{
		{"the default enforces them", "", nil},
		{"the mode that enforces them", osv1.SDNModeNetworkPolicy, nil},
		{"... in another case", "networkpolicy", nil},
		{"a mode without isolation", osv1.SDNModeSubnet, ignored("Subnet")},
		{"a mode that isolates namespaces only", osv1.SDNModeMultitenant, ignored("Multitenant")},
		{"... in another case", "multitenant", ignored("Multitenant")},
	} {
		out := output(t, network(func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: tc.mode}
		}), nil, cluster())
		if diff := cmp.Diff(tc.want, out.Notes); diff != "" {
			t.Errorf("%s, mode %q: %s", tc.why, tc.mode, diff)
		}
		if len(out.Failures) > 0 || len(out.Problems) > 0 || out.Again != 0 {
			t.Errorf("%s, mode %q: a mode is no problem, and needs no other observation: %+v", tc.why, tc.mode, out)
		}
	}
}

// TestPodsRestartWhenTheirInputChanges: Open vSwitch for its image alone, the controller not for kube-proxy.
func TestPodsRestartWhenTheirInputChanges(t *testing.T) {
	templates := func(change func(*operatorv1.NetworkSpec)) []corev1.PodTemplateSpec {
		out := output(t, network(change), nil, cluster())
		var all []corev1.PodTemplateSpec
		for _, name := range names {
			all = append(all, daemonSet(t, out, name).Spec.Template)
		}
		return all
	}
	before := templates(nil)
	for _, tc := range []struct {
		why    string
		change func(*operatorv1.NetworkSpec)
		want   []bool // ovs, sdn, sdn-controller
	}{
		{"nothing", nil, []bool{false, false, false}},
		{"unidling", func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OpenShiftSDNConfig = settings(nil)
			s.DefaultNetwork.OpenShiftSDNConfig.EnableUnidling = new(false)
		}, []bool{false, true, true}},
		{"kube-proxy", func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = proxyArguments("iptables-sync-period", "90s") }, []bool{false, true, false}},
		{"the component instead of the own kube-proxy", func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(true) }, []bool{false, true, false}},
		{"the log level", func(s *operatorv1.NetworkSpec) { s.LogLevel = "Debug" }, []bool{false, true, true}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			for i, after := range templates(tc.change) {
				if changed := cmp.Diff(before[i], after) != ""; changed != tc.want[i] {
					t.Errorf("%s: changed %t, want %t", names[i], changed, tc.want[i])
				}
			}
		})
	}
}

// TestKubeProxyRunsOnce: in the pods of agents, or as the component.
func TestKubeProxyRunsOnce(t *testing.T) {
	for _, component := range []*bool{nil, new(false), new(true)} {
		res, err := run(t, pipeline.Input{Desired: network(func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = component }), Cluster: cluster()})
		if err != nil {
			t.Fatal(err)
		}
		runs, local := 0, 0
		for _, o := range res.Outputs {
			for _, object := range o.Output.Objects {
				text, err := object.Object.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if object.Key().Kind == "DaemonSet" && strings.Contains(string(text), `"/usr/bin/kube-proxy"],`+"\"env\"") {
					runs++
				}
				if object.Key().Kind == "ConfigMap" && strings.Contains(string(text), `bridgeInterface: tun0`) {
					local++
				}
			}
		}
		if runs != 1 || local == 0 {
			t.Errorf("deployKubeProxy %v: %d DaemonSets run kube-proxy, %d configurations recognize pods by tun0", component, runs, local)
		}
	}
}

func TestTheMissingImageIsNamed(t *testing.T) {
	for _, variable := range []string{Image, serviceproxy.ImageVariable, facts.OperatorImage} {
		f := cluster()
		delete(f.Images, variable)
		if _, err := run(t, pipeline.Input{Desired: network(nil), Cluster: f}); !errors.Is(err, facts.ErrNoImage) || !strings.Contains(err.Error(), variable) {
			t.Errorf("without %s: %v", variable, err)
		}
	}
}

// TestContainersMatchTheAgentConfig: files, directories, ports and names in assets are those of package agentconfig, which the programs use.
func TestContainersMatchTheAgentConfig(t *testing.T) {
	out := output(t, network(nil), nil, cluster())
	for _, tc := range []struct {
		set, container, program string
		mounts                  []string
		health                  string
	}{
		{agentconfig.Switch, "openvswitch", agentconfig.NodeProgram, []string{agentconfig.SwitchRunDir, agentconfig.SwitchDataDir, "/tmp"}, ""},
		{agentconfig.Node, agentconfig.Node, agentconfig.NodeProgram, []string{agentconfig.ConfigDir, agentconfig.SwitchRunDir, agentconfig.SwitchDataDir, agentconfig.ServerDir,
			agentconfig.StateDir, agentconfig.AddressDir, agentconfig.PluginConfDir, agentconfig.HostPluginDir}, agentconfig.HealthNode},
		{agentconfig.Controller, agentconfig.Controller, agentconfig.ControllerProgram, []string{agentconfig.ConfigDir}, agentconfig.HealthController},
	} {
		d := daemonSet(t, out, tc.set)
		i := slices.IndexFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == tc.container })
		if i < 0 {
			t.Fatalf("%s has no container %s", tc.set, tc.container)
		}
		c := d.Spec.Template.Spec.Containers[i]
		if c.Command[0] != tc.program {
			t.Errorf("%s runs %s, want %s", c.Name, c.Command[0], tc.program)
		}
		if file := "--config=" + agentconfig.ConfigDir + "/" + agentconfig.FileName; tc.set != agentconfig.Switch && !slices.Contains(c.Command, file) {
			t.Errorf("%s runs %v, without %s", c.Name, c.Command, file)
		}
		for _, path := range tc.mounts {
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path }) {
				t.Errorf("%s has no %s", c.Name, path)
			}
		}
		for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
			if tc.health == "" && !slices.Contains(p.Exec.Command, "--target="+agentconfig.SwitchControl) {
				t.Errorf("%s is probed with %v", c.Name, p.Exec.Command)
			}
			if tc.health != "" && p.HTTPGet.Host+":"+p.HTTPGet.Port.String() != tc.health {
				t.Errorf("%s is probed at %s:%s, want %s", c.Name, p.HTTPGet.Host, p.HTTPGet.Port.String(), tc.health)
			}
		}
	}
	sdn := daemonSet(t, out, agentconfig.Node).Spec.Template.Spec.Containers[0]
	if want := agentconfig.PluginConfDir + "/" + agentconfig.ConfigurationList; !slices.Contains(sdn.Lifecycle.PreStop.Exec.Command, want) {
		t.Errorf("preStop removes %v, want %s", sdn.Lifecycle.PreStop.Exec.Command, want)
	}
}

// TestTheRenderedConfigurationIsValid: programs accept what the operator writes, in every mode.
func TestTheRenderedConfigurationIsValid(t *testing.T) {
	for _, mode := range modes {
		out := output(t, network(func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OpenShiftSDNConfig = settings(nil)
			s.DefaultNetwork.OpenShiftSDNConfig.Mode = mode
		}), nil, cluster())
		for _, o := range out.Objects {
			if o.Key().Kind != "ConfigMap" {
				continue
			}
			var m corev1.ConfigMap
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, &m); err != nil {
				t.Fatal(err)
			}
			c, err := agentconfig.Decode([]byte(m.Data[agentconfig.FileName]))
			if err != nil {
				t.Fatal(err)
			}
			if errs := c.Validate(); len(errs) > 0 || string(c.Mode) != string(mode) {
				t.Errorf("%s: mode %s, %v", mode, c.Mode, errs)
			}
		}
	}
}
