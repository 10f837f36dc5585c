package node_test

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func (c *cluster) create(object client.Object) {
	c.t.Helper()
	if err := c.api.Client.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// pod is a pod with a sandbox, as a container runtime has it.
type pod struct {
	netns.Namespace
	m     *machine
	name  string
	uid   string
	given topology.Pod
	// mappings are host ports by ports of the pod.
	mappings map[int]int
}

func (p *pod) addr() netip.Addr { return p.given.Addresses[0].Addr() }

// schedule creates a pod on the node. Neither addresses nor a sandbox exist yet.
func (m *machine) schedule(name string) *pod {
	m.t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: m.ns, Name: name}, Spec: corev1.PodSpec{NodeName: m.name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}}}
	m.create(object)
	m.pods++
	block := m.blocks[m.name]
	address := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128, block.Addr().As4()[2], byte(10 + m.pods)}), block.Bits())
	return &pod{
		Namespace: netns.New(m.t, name), m: m, name: name, uid: string(object.UID),
		given: topology.Pod{Addresses: []netip.Prefix{address}, MAC: topology.MAC(address.Addr()), Gateways: []netip.Addr{topology.RouterAddress(block).Addr()}},
	}
}

// port is the pod's logical port.
func (p *pod) port() string { return topology.PodPort(p.m.ns, p.name) }

// give does for the pod what the master does: its logical port, and its addresses.
func (p *pod) give() {
	p.m.t.Helper()
	addresses := p.given.MAC.String() + " " + p.addr().String()
	p.m.nbctl("lsp-add", p.m.name, p.port(), "--", "lsp-set-addresses", p.port(), addresses, "--", "lsp-set-port-security", p.port(), addresses,
		"--", "lsp-set-options", p.port(), "requested-chassis="+p.m.name, "iface-id-ver="+p.uid)
	p.annotate()
}

func (p *pod) annotate() {
	p.m.t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.m.ns, Name: p.name}}
	if err := p.m.api.Client.Get(p.m.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		p.m.t.Fatal(err)
	}
	apitest.Change(p.m.t, p.m.api.Client, object, func() { object.Annotations = map[string]string{topology.PodNetworks: p.given.Encode()} })
}

// call calls the plugins as a container runtime does.
func (p *pod) call(do func(*libcni.CNIConfig, *libcni.NetworkConfigList, *libcni.RuntimeConf) error) error {
	files, err := libcni.ConfFiles(filepath.Join(p.m.dir, "net.d"), []string{".conf", ".conflist", ".json"})
	if err != nil || len(files) != 1 {
		return fmt.Errorf("the configurations are %v, %v", files, err)
	}
	list, err := libcni.ConfListFromFile(files[0])
	if err != nil {
		return err
	}
	rt := &libcni.RuntimeConf{ContainerID: p.Namespace.Name, NetNS: p.Path(), IfName: "eth0", Args: [][2]string{
		{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", p.m.ns}, {"K8S_POD_NAME", p.name}, {"K8S_POD_INFRA_CONTAINER_ID", p.Namespace.Name}, {"K8S_POD_UID", p.uid},
	}}
	if len(p.mappings) > 0 {
		var all []map[string]any
		for inside, outside := range p.mappings {
			all = append(all, map[string]any{"hostPort": outside, "containerPort": inside, "protocol": "tcp"})
		}
		rt.CapabilityArgs = map[string]any{"portMappings": all}
	}
	// Plugins run in the node's network namespace.
	return ns.WithNetNSPath(p.m.at.Path(), func(ns.NetNS) error {
		return do(libcni.NewCNIConfigWithCacheDir([]string{plugins}, filepath.Join(p.m.dir, "cache"), nil), list, rt)
	})
}

func (p *pod) add() error {
	return p.call(func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		result, err := cni.AddNetworkList(p.m.t.Context(), list, rt)
		if err != nil {
			return err
		}
		full, err := current.GetResult(result)
		if err != nil {
			return err
		}
		if got, want := full.IPs[0].Address.String(), p.given.Addresses[0].String(); got != want {
			return fmt.Errorf("the result has the address %s, the master gave %s", got, want)
		}
		return nil
	})
}

func (p *pod) check() error {
	return p.call(func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		return cni.CheckNetworkList(p.m.t.Context(), list, rt)
	})
}

func (p *pod) del() error {
	return p.call(func(cni *libcni.CNIConfig, list *libcni.NetworkConfigList, rt *libcni.RuntimeConf) error {
		return cni.DelNetworkList(p.m.t.Context(), list, rt)
	})
}

// pod adds a pod, which must succeed.
func (m *machine) pod(name string) *pod {
	m.t.Helper()
	p := m.schedule(name)
	p.give()
	if err := p.add(); err != nil {
		m.t.Fatalf("ADD of %s: %v", name, err)
	}
	return p
}
