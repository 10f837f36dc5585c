package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSecretsAreReadableByRootOnly(t *testing.T) {
	for path, f := range filesOf(t, newNode(t, oneAndOne, "cp-0")) {
		private := strings.HasSuffix(path, ".key") || strings.HasSuffix(path, ".conf") && path != "/etc/resolv.conf"
		if private && f.Mode != secret {
			t.Errorf("%s has mode %o", path, f.Mode)
		}
	}
}

func TestWorkersDoNotHaveTheClustersKeys(t *testing.T) {
	files := filesOf(t, newNode(t, oneAndOne, "worker-0"))
	for _, path := range []string{caKeyFile, keyFile("sa"), keyFile(pki.Etcd), "/etc/kubernetes/admin.conf"} {
		if _, ok := files[path]; ok {
			t.Errorf("a worker holds %s", path)
		}
	}
}

func TestEveryFileInArgumentsExists(t *testing.T) {
	n := newNode(t, oneAndOne, "cp-0")
	files := filesOf(t, n)
	for _, u := range Units(n.Topology, n.Node) {
		for _, arg := range u.Args {
			_, value, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(value, kubernetesDir+"/") {
				continue
			}
			if _, ok := files[value]; !ok {
				t.Errorf("an argument of %s names %s, which does not exist", u.Name, value)
			}
		}
	}
}

func TestKubelet(t *testing.T) {
	tests := map[string]struct {
		options topology.Options
		node    string
		dns     []string
		nodeIP  string
		tainted bool
	}{
		"a control plane is tainted": {oneAndOne, "cp-0", []string{"10.96.0.10"}, "10.89.0.11", true},
		"a worker is not":            {oneAndOne, "worker-0", []string{"10.96.0.10"}, "10.89.0.12", false},
		"both families are configured": {
			topology.Options{ControlPlanes: 1, Family: topology.DualStack}, "cp-0", []string{"10.96.0.10", "fd96::a"}, "10.89.0.11,fd89::b", true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, tt.options, tt.node)
			var k kubeletv1.KubeletConfiguration
			if err := yaml.UnmarshalStrict(filesOf(t, n)[kubeletConfigPath].Data, &k); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.dns, k.ClusterDNS); diff != "" {
				t.Error(diff)
			}
			if tainted := len(k.RegisterWithTaints) > 0; tainted != tt.tainted {
				t.Errorf("taints: %v", k.RegisterWithTaints)
			}
			if k.CgroupRoot != "/branch" || *k.FailCgroupV1 || *k.FailSwapOn || *k.ImageGCHighThresholdPercent != 100 {
				t.Errorf("it does not share the machine: %+v", k)
			}
			if args := argsOf(t, n, Kubelet); !slices.Contains(args, "--node-ip="+tt.nodeIP) {
				t.Errorf("arguments: %v", args)
			}
		})
	}
}

func TestControlPlaneArguments(t *testing.T) {
	three := topology.Options{ControlPlanes: 3, Workers: 1, Family: topology.IPv4}
	six := topology.Options{ControlPlanes: 1, Family: topology.IPv6}
	tests := map[string]struct {
		options topology.Options
		node    string
		unit    string
		want    []string
	}{
		"etcd members know one another": {three, "cp-1", Etcd, []string{
			"--name=cp-1",
			"--initial-cluster=cp-0=https://10.89.0.11:2380,cp-1=https://10.89.0.12:2380,cp-2=https://10.89.0.13:2380",
			"--listen-client-urls=https://127.0.0.1:2379,https://10.89.0.12:2379",
		}},
		"an API server uses the member beside it": {three, "cp-1", APIServer, []string{
			"--etcd-servers=https://127.0.0.1:2379", "--advertise-address=10.89.0.12", "--bind-address=0.0.0.0",
			"--authorization-mode=Node,RBAC", "--allow-privileged", "--service-cluster-ip-range=10.96.0.0/16",
		}},
		"IPv6 addresses are bracketed where a port follows": {six, "cp-0", APIServer, []string{
			"--etcd-servers=https://[::1]:2379", "--advertise-address=fd89::b", "--bind-address=::",
		}},
		"several elect a leader": {three, "cp-0", ControllerManager, []string{"--leader-elect=true", "--allocate-node-cidrs=false"}},
		"one alone need not":     {oneAndOne, "cp-0", Scheduler, []string{"--leader-elect=false"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := argsOf(t, newNode(t, tt.options, tt.node), tt.unit)
			for _, want := range tt.want {
				if !slices.Contains(args, want) {
					t.Errorf("%s is missing in %v", want, args)
				}
			}
		})
	}
}

func TestUnitsOfANode(t *testing.T) {
	proxied := oneAndOne
	proxied.KubeProxy = true
	tests := map[string]struct {
		options topology.Options
		node    string
		want    []string
	}{
		"control plane":         {oneAndOne, "cp-0", []string{Etcd, APIServer, ControllerManager, Scheduler, Containerd, Kubelet}},
		"worker":                {oneAndOne, "worker-0", []string{Containerd, Kubelet}},
		"worker with the proxy": {proxied, "worker-0", []string{Containerd, Kubelet, KubeProxy}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, tt.options, tt.node)
			var got []string
			for _, u := range Units(n.Topology, n.Node) {
				got = append(got, u.Name)
				if u.Path != machine.Bin+"/"+u.Name || u.Log != machine.Logs+"/"+u.Name+".log" {
					t.Errorf("%s runs %s and logs to %s", u.Name, u.Path, u.Log)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	n := newNode(t, oneAndOne, "worker-0")
	if _, err := Unit(n.Topology, n.Node, Etcd); err == nil {
		t.Error("a worker has a unit etcd")
	}
}

func TestKubeconfigsHaveTheRightServer(t *testing.T) {
	several := topology.Options{ControlPlanes: 3, Workers: 1, Family: topology.IPv4}
	tests := map[string]struct {
		options            topology.Options
		node, file, server string
	}{
		"a worker uses the only API server":       {oneAndOne, "worker-0", "kubelet.conf", "https://10.89.0.11:6443"},
		"a control plane uses its own":            {several, "cp-2", "scheduler.conf", "https://10.89.0.13:6443"},
		"a worker of several uses the underlay's": {several, "worker-0", "kubelet.conf", "https://10.89.0.1:6443"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := filesOf(t, newNode(t, tt.options, tt.node))[kubernetesDir+"/"+tt.file]
			c, err := clientcmd.RESTConfigFromKubeConfig(file.Data)
			if err != nil {
				t.Fatal(err)
			}
			if c.Host != tt.server || len(c.CAData) == 0 || len(c.CertData) == 0 || len(c.KeyData) == 0 {
				t.Errorf("it leads to %s with %d, %d and %d bytes", c.Host, len(c.CAData), len(c.CertData), len(c.KeyData))
			}
		})
	}
}

func TestNodesResolveEachOtherByName(t *testing.T) {
	hosts := string(filesOf(t, newNode(t, oneAndOne, "worker-0"))["/etc/hosts"].Data)
	for _, line := range []string{"127.0.0.1 localhost", "10.89.0.11 cp-0", "10.89.0.12 worker-0"} {
		if !strings.Contains(hosts, line+"\n") && !strings.Contains(hosts, line+" ") {
			t.Errorf("%q is not in\n%s", line, hosts)
		}
	}
}

var oneAndOne = topology.Options{ControlPlanes: 1, Workers: 1, Family: topology.IPv4}

func newNode(t *testing.T, o topology.Options, name string) Node {
	t.Helper()
	lab, err := topology.New(o)
	if err != nil {
		t.Fatal(err)
	}
	node, err := lab.Node(name)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := pki.NewCluster(now)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := cluster.Issue(lab, node, now)
	if err != nil {
		t.Fatal(err)
	}
	return Node{Topology: lab, Node: node, Cluster: cluster, Pairs: pairs, CgroupRoot: "/branch"}
}

func filesOf(t *testing.T, n Node) map[string]machine.File {
	t.Helper()
	list, err := Files(n)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]machine.File{}
	for _, f := range list {
		if _, twice := files[f.Path]; twice {
			t.Errorf("%s is written twice", f.Path)
		}
		files[f.Path] = f
	}
	return files
}

func argsOf(t *testing.T, n Node, unit string) []string {
	t.Helper()
	u, err := Unit(n.Topology, n.Node, unit)
	if err != nil {
		t.Fatal(err)
	}
	return u.Args
}
