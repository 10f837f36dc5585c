package crds_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// What the operator accepts must reach it: the API server refuses nothing else than the operator does. The
// objects are put together of values at and beyond the limits of each rule: each of them once with all others
// right, then at random.
func TestServerAcceptsWhatTheOperatorAccepts(t *testing.T) {
	const rounds = 1000
	random := rand.New(rand.NewPCG(1, 2))
	total, accepted := 0, 0
	check := func(choose func(part, values int) int) {
		total++
		o := network(t, choose)
		if operatorAccepts(t, o) {
			accepted++
			if complaints := complaints(t, o); len(complaints) > 0 {
				t.Errorf("the operator accepts %s, the API server returns %q", asJSON(t, o.Object["spec"]), complaints)
			}
		}
	}
	for i, part := range alternatives {
		for j := range part.values {
			check(func(part, _ int) int {
				if part == i {
					return j
				}
				return 0
			})
		}
	}
	for range rounds {
		check(func(_, values int) int {
			if random.IntN(3) == 0 {
				return random.IntN(values)
			}
			return 0
		})
	}
	t.Logf("the operator accepts %d of %d objects", accepted, total)
	if accepted < total/20 {
		t.Errorf("the operator accepts only %d of %d objects, too few for a conclusion", accepted, total)
	}
}

func operatorAccepts(t *testing.T, o *unstructured.Unstructured) bool {
	t.Helper()
	network := &operatorv1.Network{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, network); err != nil {
		t.Fatal(err)
	}
	p := pipeline.Pipeline{Registry: networks.Registry()}
	_, err := p.Run(t.Context(), pipeline.Input{Desired: &network.Spec}, pipeline.Validate)
	return err == nil
}

// alternatives are the values of each part; the first is right for all others, and is taken often.
var alternatives = []struct {
	path   []string
	values []string
}{
	{[]string{"spec", "clusterNetwork"}, []string{
		"[{cidr: 10.128.0.0/14, hostPrefix: 23}]", "[{cidr: 10.128.0.0/14, hostPrefix: 30}]", "[{cidr: 10.128.0.0/14, hostPrefix: 31}]",
		"[{cidr: 10.128.0.0/14, hostPrefix: 14}]", "[{cidr: 10.128.0.0/14, hostPrefix: 13}]", "[{cidr: 10.128.0.0/14}]",
		"[{cidr: 10.128.0.0/30, hostPrefix: 30}]", "[{cidr: 10.128.0.0/32, hostPrefix: 32}]", "[{cidr: 10.128.0.1/14, hostPrefix: 23}]",
		"[{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: 10.132.0.0/14, hostPrefix: 23}]", "[{cidr: 10.128.0.0/14}, {cidr: 10.129.0.0/16}]",
		"[{cidr: 'fd01::/48', hostPrefix: 64}]", "[{cidr: 'fd01::/48', hostPrefix: 127}]", "[{cidr: 'FD01:0::/48', hostPrefix: 126}]",
		"[{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: 'fd01::/48', hostPrefix: 64}]", "[{cidr: '::ffff:10.128.0.0/110', hostPrefix: 119}]",
	}},
	{[]string{"spec", "serviceNetwork"}, []string{
		"[172.30.0.0/16]", "['fd02::/112']", "[172.30.0.0/16, 'fd02::/112']", "['fd02::/112', 172.30.0.0/16]", "[172.30.0.0/16, 172.31.0.0/16]",
		"[10.129.0.0/16]", "[172.30.0.0/16, 'fd02::/112', 10.0.0.0/16]", "[172.30.0.5/16]", "[172.30/16]",
	}},
	{[]string{"spec", "defaultNetwork", "type"}, []string{"Flannel", "flannel", "acme", "Calico"}},
	{[]string{"spec", "defaultNetwork", "flannelConfig"}, []string{
		"null", "{}", "{backend: host-gw}", "{backend: vxlan, vxlan: {}}", "{vxlan: {}}", "{backend: udp}", "{backend: ''}",
		"{backend: vxlan, vxlan: {vni: 16777215, port: 65535}}", "{backend: vxlan, vxlan: {vni: 0}}", "{backend: vxlan, vxlan: {vni: 16777216, port: 0}}",
		"{mtu: 575}", "{mtu: 576}", "{mtu: 1279}", "{mtu: 65535}", "{mtu: 65537}",
		"{interface: eth0}", "{interface: abcdefghijklmno}", "{interface: abcdefghijklmnop}", "{interface: 'a b'}", "{interface: .}", "{interface: wg0.1-x_y@z}",
		"{etcd: {}}", "{etcd: {managed: {}}}", "{etcd: {managed: {}, external: {endpoints: ['http://a:1']}}}", "{etcd: {external: {endpoints: []}}}",
		"{etcd: {external: {endpoints: ['http://192.0.2.1:2379', 'http://[fd00::1]:2379', 'http://etcd.example:2379']}}}",
		"{etcd: {external: {endpoints: ['http://192.0.2.1']}}}", "{etcd: {external: {endpoints: ['http://192.0.2.1:2379/']}}}", "{etcd: {external: {endpoints: ['HTTP://a:1']}}}",
		"{etcd: {external: {endpoints: ['https://a:1']}}}", "{etcd: {external: {endpoints: ['https://a:1'], caConfigMap: a, clientCertificateSecret: b}}}",
		"{etcd: {external: {endpoints: ['https://a:1', 'http://b:1'], caConfigMap: a, clientCertificateSecret: b}}}",
		"{etcd: {prefix: /a}}", "{etcd: {prefix: /a/b.c/d}}", "{etcd: {prefix: /a/}}", "{etcd: {prefix: a}}", "{etcd: {prefix: /}}", "{etcd: {prefix: '/a b'}}",
		"{etcd: {managed: {clientPort: 12380, peerPort: 12379}}}", "{etcd: {managed: {clientPort: 12380}}}", "{etcd: {managed: {clientPort: 0}}}", "{etcd: {managed: {peerPort: 65535}}}",
		"{etcd: {managed: {dataDir: /data}}}", "{etcd: {managed: {dataDir: '/da ta/é..x'}}}", "{etcd: {managed: {dataDir: /data/}}}", "{etcd: {managed: {dataDir: /a/../b}}}", "{etcd: {managed: {dataDir: /}}}", `{etcd: {managed: {dataDir: "/a\nb"}}}`, `{etcd: {managed: {dataDir: "/a\u2028b"}}}`, `{etcd: {managed: {dataDir: "/a\x85b"}}}`,
		"{etcd: {external: {endpoints: ['http://etcd.default.svc:2379']}}}", "{etcd: {external: {endpoints: ['http://a.b.SVC.cluster.local:1']}}}", "{etcd: {external: {endpoints: ['http://etcd.svc.example:1']}}}",
	}},
	{[]string{"spec", "defaultNetwork", "ovnKubernetesConfig"}, []string{"null", "{}", "{mtu: 1400}"}},
	{[]string{"spec", "defaultNetwork", "nuageConfig"}, []string{"null", "{}"}},
	{[]string{"spec", "kubeProxyConfig", "iptablesSyncPeriod"}, []string{"null", "30s", "''", "'30'", "1h0.5m", ".5s", "5.s", "+1s", "-1s", "1µs", "1 s", "often"}},
	{[]string{"spec", "kubeProxyConfig", "bindAddress"}, []string{"null", "0.0.0.0", "''", "'::'", "'::1'", "127.0.0.1", "'fe80::1%eth0'", "'::ffff:1.2.3.4'", "010.0.0.1", "a"}},
	{[]string{"spec", "managementState"}, []string{"null", "Managed", "Unmanaged", "Force", "Removed"}},
	{[]string{"spec", "logLevel"}, []string{"null", "''", "Trace", "Loud"}},
}

// network puts an object together; choose returns which of the values a part has.
func network(t *testing.T, choose func(part, values int) int) *unstructured.Unstructured {
	t.Helper()
	o := object(t, networkBase, `{}`)
	for i, part := range alternatives {
		change := part.values[choose(i, len(part.values))]
		for j := len(part.path) - 1; j >= 0; j-- {
			change = fmt.Sprintf("{%s: %s}", part.path[j], change)
		}
		merge(o.Object, object(t, change, `{}`).Object)
	}
	return o
}
