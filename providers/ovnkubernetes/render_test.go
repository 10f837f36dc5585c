package ovnkubernetes

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/providers/kubeproxy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// cluster is one with some control-plane nodes.
func cluster(controlPlane ...string) facts.Cluster {
	f := facts.Cluster{
		HostMTU: 1500, ReleaseVersion: "v1.2.0", APIServer: facts.HostPort{Host: "192.0.2.100", Port: 6443}, NodeAddresses: map[string][]netip.Addr{},
		Images: facts.Images{Image: "registry.test/ovn:v1", "KUBE_PROXY_IMAGE": "registry.test/kube-proxy:v1", facts.OperatorImage: "registry.test/cno:v1"},
	}
	for i, address := range controlPlane {
		name := "cp-" + string(rune('0'+i))
		f.NodeAddresses[name] = []netip.Addr{netip.MustParseAddr(address)}
		f.ControlPlane = append(f.ControlPlane, facts.Node{Name: name, UID: name + "-uid", Addresses: f.NodeAddresses[name]})
	}
	f.NodeCount = len(f.ControlPlane)
	return f
}

// both adds IPv6 addresses to the nodes of a cluster, as the second ones, and to the API server.
func both(f facts.Cluster) facts.Cluster {
	f.APIServer.Host = "2001:db8::100"
	for i := range f.ControlPlane {
		n := &f.ControlPlane[i]
		v4 := n.Addresses[0].As4()
		n.Addresses = append(n.Addresses, netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", v4[3])))
		f.NodeAddresses[n.Name] = n.Addresses
	}
	return f
}

// network is one with settings that are changed by a function, which may be nil.
func network(change func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
	spec := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOVNKubernetes},
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
	clusters := map[string]facts.Cluster{"offline": {Images: facts.Images{"": "%s"}, HostMTU: 1500}, "fresh": cluster("192.0.2.10")}
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) < 4 {
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
				f = cluster("192.0.2.12", "192.0.2.10", "192.0.2.11")
			}
			if strings.HasPrefix(name, "ipv6") {
				f = both(f)
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

// sets are the two DaemonSets as a version of the operator renders them for some pools, rolled out on nodes nodes.
func sets(t *testing.T, release string, nodes int32, pools ...operatorv1.ClusterNetworkEntry) []*appsv1.DaemonSet {
	t.Helper()
	f := cluster("192.0.2.10")
	f.ReleaseVersion = release
	out := output(t, network(func(s *operatorv1.NetworkSpec) {
		if pools != nil {
			s.ClusterNetwork = pools
		}
	}), nil, f)
	var found []*appsv1.DaemonSet
	for _, name := range []string{masterName, nodeName} {
		d := daemonSet(t, out, name)
		if d == nil {
			t.Fatalf("%s is not rendered", name)
		}
		d.Generation, d.Status = 1, appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: nodes, UpdatedNumberScheduled: nodes, NumberAvailable: nodes}
		found = append(found, d)
	}
	return found
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

func TestOneDaemonSetWaitsForTheOther(t *testing.T) {
	ready := func(name string, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}}
	}
	larger := []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/13", HostPrefix: 23}}
	for _, tc := range []struct {
		why     string
		change  func(master, node *appsv1.DaemonSet) // of what runs
		from    string
		held    string
		message string
	}{
		{"an upgrade begins with nodes", nil, "v1.1.9", masterName, "OVN-Kubernetes waits for the new version of ovnkube on 0 of 3 nodes before it replaces ovnkube-master"},
		{"... and masters wait for the last node", func(_, node *appsv1.DaemonSet) {
			node.Annotations[manifest.AnnotationVersion], node.Status.UpdatedNumberScheduled = "v1.2.0", 1
		}, "v1.1.9", masterName, "on 1 of 3 nodes"},
		{"... but not for a node that is down", func(_, node *appsv1.DaemonSet) {
			node.Annotations[manifest.AnnotationVersion], node.Status.NumberAvailable = "v1.2.0", 2
		}, "v1.1.9", "", ""},
		{"... and not for what the DaemonSet controller has not seen yet", func(_, node *appsv1.DaemonSet) {
			node.Annotations[manifest.AnnotationVersion], node.Generation = "v1.2.0", 2
		}, "v1.1.9", masterName, "on 3 of 3 nodes"},
		{"a downgrade begins with masters", nil, "v1.3.0", nodeName, "waits for the previous version of ovnkube-master on 0 of 3 nodes before it replaces ovnkube"},
		{"... and ends with nodes", func(master, _ *appsv1.DaemonSet) { master.Annotations[manifest.AnnotationVersion] = "v1.2.0" }, "v1.3.0", "", ""},
		{"nothing has changed", nil, "v1.2.0", "", ""},
		{"versions that cannot be compared", nil, "main", "", ""},
		{"a pool grows: nodes are first", func(master, node *appsv1.DaemonSet) {
			master.Annotations[poolsAnnotation], node.Annotations[poolsAnnotation] = "10.128.0.0/15/23", "10.128.0.0/15/23"
		}, "v1.2.0", masterName, "OVN-Kubernetes waits for the changed pools of ovnkube on 0 of 3 nodes before it replaces ovnkube-master"},
		{"a family is removed: likewise, and no pool is larger", func(master, node *appsv1.DaemonSet) {
			master.Annotations[poolsAnnotation], node.Annotations[poolsAnnotation] = "10.128.0.0/13/23,fd01::/48/64", "10.128.0.0/13/23,fd01::/48/64"
		}, "v1.2.0", masterName, "waits for the changed pools of ovnkube"},
		{"... and masters when all nodes know it", func(master, _ *appsv1.DaemonSet) { master.Annotations[poolsAnnotation] = "10.128.0.0/15/23" }, "v1.2.0", "", ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			both := sets(t, tc.from, 3, larger...)
			if tc.change != nil {
				tc.change(both[0], both[1])
			}
			reader := fake.NewClientBuilder().WithObjects(both[0], both[1], ready("a", corev1.ConditionTrue), ready("b", corev1.ConditionTrue), ready("c", corev1.ConditionUnknown)).Build()
			out := output(t, network(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork = larger }), reader, cluster("192.0.2.10"))
			if !strings.Contains(out.Waiting, tc.message) || (out.Waiting == "") != (tc.message == "") {
				t.Errorf("waiting: %q, want %q", out.Waiting, tc.message)
			}
			for _, name := range []string{masterName, nodeName} {
				if rendered := daemonSet(t, out, name) != nil; rendered == (name == tc.held) {
					t.Errorf("%s is rendered: %v", name, rendered)
				}
			}
		})
	}
}

// TestPodsRestartWhenTheirInputChanges: a control-plane node that joins changes where nodes find the southbound database, and nothing for masters.
func TestPodsRestartWhenTheirInputChanges(t *testing.T) {
	annotation := func(f facts.Cluster, change func(*operatorv1.NetworkSpec)) [2]string {
		out := output(t, network(change), nil, f)
		return [2]string{daemonSet(t, out, masterName).Spec.Template.Annotations[configHash], daemonSet(t, out, nodeName).Spec.Template.Annotations[configHash]}
	}
	one := cluster("192.0.2.10", "192.0.2.11")
	before := annotation(one, nil)
	if after := annotation(cluster("192.0.2.11", "192.0.2.10"), nil); after != before {
		t.Error("the order of control-plane nodes restarts pods")
	}
	if after := annotation(cluster("192.0.2.10", "192.0.2.11", "192.0.2.12"), nil); after[0] != before[0] || after[1] == before[1] {
		t.Errorf("a control-plane node joins: %v, before %v", after, before)
	}
	if after := annotation(one, func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.128.0.0/13" }); after[0] == before[0] || after[1] == before[1] {
		t.Errorf("a pool grows: %v, before %v", after, before)
	}
}

func TestTheMissingImageIsNamed(t *testing.T) {
	f := cluster("192.0.2.10")
	delete(f.Images, Image)
	if _, err := run(t, pipeline.Input{Desired: network(nil), Cluster: f}); !errors.Is(err, facts.ErrNoImage) || !strings.Contains(err.Error(), Image) {
		t.Errorf("without the image: %v", err)
	}
}

// TestContainersMatchTheProgram: commands, sockets and directories in assets are those of package agentconfig, which the programs use.
func TestContainersMatchTheProgram(t *testing.T) {
	out := output(t, network(nil), nil, cluster("192.0.2.10"))
	want := map[string][]string{
		masterName: {agentconfig.CommandMaster, agentconfig.CommandNorth, agentconfig.CommandSouth, agentconfig.CommandNorthd},
		nodeName:   {agentconfig.CommandNode, agentconfig.CommandSwitch, agentconfig.CommandController},
	}
	// ovsdb-server does not start without a place for temporary files.
	const temporary = "/tmp"
	mounts := map[string][]string{
		agentconfig.CommandMaster: {agentconfig.RunDir}, agentconfig.CommandNorth: {agentconfig.RunDir, agentconfig.DataDir, temporary},
		agentconfig.CommandSouth:  {agentconfig.RunDir, agentconfig.DataDir, temporary, agentconfig.CertificateDir, agentconfig.CADir},
		agentconfig.CommandNorthd: {agentconfig.RunDir}, agentconfig.CommandSwitch: {agentconfig.SwitchRunDir, agentconfig.SwitchDataDir, temporary},
		agentconfig.CommandController: {agentconfig.SwitchRunDir, agentconfig.RunDir, agentconfig.CertificateDir, agentconfig.CADir},
		agentconfig.CommandNode: {agentconfig.SwitchRunDir, agentconfig.SwitchDataDir, agentconfig.RunDir, agentconfig.DataDir, agentconfig.ServerDir, agentconfig.StateDir,
			agentconfig.HostPluginDir, agentconfig.PluginConfDir},
	}
	probes := map[string]string{
		agentconfig.CommandNorth: agentconfig.NorthSocket, agentconfig.CommandSouth: agentconfig.SouthSocket, agentconfig.CommandNorthd: agentconfig.NorthdControl,
		agentconfig.CommandSwitch: agentconfig.SwitchControl, agentconfig.CommandController: agentconfig.ControllerControl,
	}
	health := map[string]string{agentconfig.CommandMaster: agentconfig.HealthMaster, agentconfig.CommandNode: agentconfig.HealthNode}
	for set, commands := range want {
		var got []string
		for _, c := range daemonSet(t, out, set).Spec.Template.Spec.Containers {
			command := c.Command[len(c.Command)-1]
			got = append(got, command)
			if !slices.Equal(c.Command, []string{agentconfig.Script, command}) {
				t.Errorf("%s runs %v", c.Name, c.Command)
			}
			for _, path := range mounts[command] {
				if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path }) {
					t.Errorf("%s has no %s", c.Name, path)
				}
			}
			for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
				if socket := probes[command]; socket != "" && !strings.Contains(strings.Join(p.Exec.Command, " "), socket) {
					t.Errorf("%s is probed with %v, want %s", c.Name, p.Exec.Command, socket)
				} else if address := health[command]; address != "" && p.HTTPGet.Host+":"+p.HTTPGet.Port.String() != address {
					t.Errorf("%s is probed at %s:%s, want %s", c.Name, p.HTTPGet.Host, p.HTTPGet.Port.String(), address)
				}
			}
			if address := health[command]; address != "" && !slices.Contains(c.Env, corev1.EnvVar{Name: agentconfig.VariableHealth, Value: address}) {
				t.Errorf("%s lacks %s=%s", c.Name, agentconfig.VariableHealth, address)
			}
		}
		if !slices.Equal(got, commands) {
			t.Errorf("%s runs %v, want %v", set, got, commands)
		}
	}
}
