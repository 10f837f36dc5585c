// Package component builds the programs of a lab from their published
// Go modules. Each is pinned, with everything it depends on, by a small build
// module in e2e/components. Checkouts share a cache of the built programs, whose
// names depend on the build module and the build flags.
package component

import (
	"fmt"
	"slices"
	"strings"
)

// Component is one program.
type Component struct {
	// Name is the program's file name.
	Name string
	// Version is the version of the program, for messages.
	Version string
	// Module is the directory of its build module, Package the package to build.
	Module, Package string
	// ModFile is the file of the build module that pins the dependencies; empty means go.mod. The name of its sums ends with .sum.
	ModFile string
	// Test is true when the program is the test binary of the package.
	Test bool
	// Vars are the string variables to set, by their full names.
	Vars map[string]string
	// Group is an alias of the component for Select; empty if it has none.
	Group string
}

const (
	kubernetesVersion = "v1.36.3"
	containerdVersion = "v2.4.2"
	etcdVersion       = "v3.7.3"
	corednsVersion    = "v1.15.0"
	pluginsVersion    = "v1.9.1"
	pauseVersion      = "v3.10.2"
	helmVersion       = "v4.3.1"
)

// Catalogue returns every component, dependencies first.
func Catalogue() []Component {
	list := []Component{
		{Name: "etcd", Version: etcdVersion, Module: "etcd", Package: "go.etcd.io/etcd/server/v3"},
		kubernetes("kube-apiserver"),
		kubernetes("kubectl"),
		{Name: "etcdctl", Version: etcdVersion, Module: "etcd", Package: "go.etcd.io/etcd/etcdctl/v3"},
		kubernetes("kube-controller-manager"),
		kubernetes("kube-scheduler"),
		kubernetes("kubelet"),
		kubernetes("kube-proxy"),
		containerd("containerd"),
		containerd("containerd-shim-runc-v2"),
		containerd("ctr"),
		{Name: "coredns", Version: corednsVersion, Module: "coredns", Package: "github.com/coredns/coredns"},
		{Name: "pause", Version: pauseVersion, Module: "pause", Package: "."},
		plugin("ipam/host-local"),
		plugin("ipam/static"),
		plugin("main/bridge"),
		plugin("main/dummy"),
		plugin("main/host-device"),
		plugin("main/ipvlan"),
		plugin("main/loopback"),
		plugin("main/macvlan"),
		plugin("main/ptp"),
		plugin("main/tap"),
		plugin("main/vlan"),
		plugin("meta/bandwidth"),
		plugin("meta/firewall"),
		plugin("meta/portmap"),
		plugin("meta/sbr"),
		plugin("meta/tuning"),
		plugin("meta/vrf"),
	}
	agnhost := kubernetes("agnhost")
	agnhost.Package = "k8s.io/kubernetes/test/images/agnhost"
	return append(list, agnhost)
}

// E2ETest returns Kubernetes' test suite, which takes as long to build as all other components.
func E2ETest() Component {
	c := kubernetes("e2e.test")
	c.Package, c.Test = "k8s.io/kubernetes/test/e2e", true
	return c
}

// Conformance returns the components that only Kubernetes' tests need: the suite, and a program of an image that one of its tests uses.
func Conformance() []Component {
	invalid := kubernetes("regression-issue-74839")
	invalid.Package = "k8s.io/kubernetes/test/images/regression-issue-74839"
	return []Component{E2ETest(), invalid}
}

// Helm returns helm, with which a suite installs the charts of a release.
func Helm() Component {
	return Component{Name: "helm", Version: helmVersion, Module: "helm", Package: "helm.sh/helm/v4/cmd/helm"}
}

// Select returns components by their name or group. Without names, it returns the
// whole catalogue.
func Select(names []string) ([]Component, error) {
	all := append(append(Catalogue(), Conformance()...), Helm())
	if len(names) == 0 {
		return Catalogue(), nil
	}
	var chosen []Component
	var unknown []string
	for _, name := range names {
		n := len(chosen)
		for _, c := range all {
			if c.Name == name || c.Group == name {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) == n {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		known := make([]string, 0, len(all))
		for _, c := range all {
			known = append(known, c.Name)
		}
		return nil, fmt.Errorf("unknown components %s; known are %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
	return chosen, nil
}

// KubernetesVersions returns the versions of Kubernetes that the nodes of a lab can run, in order. The default is kubernetesVersion.
func KubernetesVersions() []string { return []string{"v1.35.4", kubernetesVersion, "v1.37.2"} }

// ClusterPrograms are the programs of Kubernetes that run on nodes. All others are those of the default version with every
// version of the cluster: kubectl, Kubernetes' tests, and kube-proxy, whose version is that of the operator's release.
func ClusterPrograms() []string {
	return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}
}

// Cluster returns the ClusterPrograms of a version.
func Cluster(version string) ([]Component, error) {
	if !slices.Contains(KubernetesVersions(), version) {
		return nil, fmt.Errorf("version %s of Kubernetes is not one of the lab's: %s", version, strings.Join(KubernetesVersions(), ", "))
	}
	var list []Component
	for _, name := range ClusterPrograms() {
		c := kubernetesOf(version, name)
		if version != kubernetesVersion {
			c.ModFile = version[:strings.LastIndexByte(version, '.')] + ".mod"
		}
		list = append(list, c)
	}
	return list, nil
}

func kubernetes(name string) Component { return kubernetesOf(kubernetesVersion, name) }

// kubernetesOf returns a program of Kubernetes. Variables set its version, which a
// build from a module does not contain.
func kubernetesOf(version, name string) Component {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	const pkg = "k8s.io/component-base/version."
	return Component{
		Name: name, Version: version, Module: "kubernetes", Package: "k8s.io/kubernetes/cmd/" + name,
		Vars: map[string]string{
			pkg + "gitVersion":   version,
			pkg + "gitMajor":     parts[0],
			pkg + "gitMinor":     parts[1],
			pkg + "gitTreeState": "clean",
		},
	}
}

func containerd(name string) Component {
	const module = "github.com/containerd/containerd/v2"
	return Component{
		Name: name, Version: containerdVersion, Module: "containerd", Package: module + "/cmd/" + name,
		Vars: map[string]string{module + "/version.Version": containerdVersion},
	}
}

func plugin(path string) Component {
	const module = "github.com/containernetworking/plugins"
	return Component{
		Name: path[strings.LastIndexByte(path, '/')+1:], Version: pluginsVersion, Module: "plugins",
		Package: module + "/plugins/" + path, Group: "cni-plugins",
		Vars: map[string]string{module + "/pkg/utils/buildversion.BuildVersion": pluginsVersion},
	}
}
