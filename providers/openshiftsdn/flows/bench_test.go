package flows_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/internal/testing/durations"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// benchRounds is how often an iteration of a benchmark repeats what it measures.
const benchRounds = 5

// policyBench is a node with pods that one policy selects and pods of another node that it admits, on two ports.
type policyBench struct {
	b      *testing.B
	node   *node
	keeper flows.Keeper
	input  netpolicy.Input
}

func newPolicyBench(b *testing.B, v *vswitch, i, pods, peers int) *policyBench {
	b.Helper()
	s := &policyBench{b: b, node: v.node(i, sdn.NetworkPolicy)}
	s.keeper = flows.Keeper{Bridge: s.node.bridge, Resync: time.Hour}
	keep(b, &s.keeper)
	s.input.Namespaces = []netpolicy.Namespace{{Name: "a"}, {Name: "b", Labels: map[string]string{"team": "b"}}}
	s.node.input.VNIDs = map[string]uint32{"a": 10, "b": 11}
	for j := range pods {
		s.add(j)
	}
	for j := range peers {
		id, address := netpolicy.ID{Namespace: "b", Name: fmt.Sprintf("peer-%03d", j)}, netip.AddrFrom4([4]byte{10, 128, 200, byte(3 + j)})
		s.node.input.Addresses[id] = []netip.Addr{address}
		s.input.Pods = append(s.input.Pods, netpolicy.Pod{ID: id, Labels: map[string]string{"app": "client"}, Addresses: []netip.Addr{address}})
	}
	s.apply()
	return s
}

// add adds a pod that the policy selects.
func (s *policyBench) add(j int) {
	p := s.node.pod("a", fmt.Sprintf("pod-%03d", j), 3+j, 10)
	s.node.input.Addresses[p.ID] = []netip.Addr{p.Address}
	s.input.Pods = append(s.input.Pods, netpolicy.Pod{ID: p.ID, Labels: map[string]string{"app": "web"}, Addresses: []netip.Addr{p.Address}})
}

// remove removes the pod that was added last.
func (s *policyBench) remove() {
	s.node.input.Pods, s.input.Pods = s.node.input.Pods[:len(s.node.input.Pods)-1], s.input.Pods[:len(s.input.Pods)-1]
}

// enforce adds the policy or removes it.
func (s *policyBench) enforce(on bool) {
	s.input.Policies = nil
	if on {
		s.input.Policies = []*networkingv1.NetworkPolicy{policy("a", "web", networkingv1.NetworkPolicySpec{
			PodSelector: *selector("app", "web"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: selector("team", "b"), PodSelector: selector("app", "client")}},
				Ports: []networkingv1.NetworkPolicyPort{tcp(intstr.FromInt32(80)), tcp(intstr.FromInt32(443))},
			}},
		})}
	}
}

// apply translates the policy, computes the flows and applies them. It returns how long that takes.
func (s *policyBench) apply() time.Duration {
	s.b.Helper()
	start := time.Now()
	s.node.input.Policies = netpolicy.Translate(s.input).Policies
	result, err := sdn.Desired(s.node.input)
	if err != nil {
		s.b.Fatal(err)
	}
	s.node.set = result.Flows
	<-s.keeper.Set(result.Flows)
	return time.Since(start)
}

// keep runs a keeper until the benchmark ends.
func keep(b *testing.B, k *flows.Keeper) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { k.Run(ctx); close(ended) }()
	b.Cleanup(func() { cancel(); <-ended })
}

// product is the set without the policy and a flow for each pod, peer and port of it.
func (s *policyBench) product() openflow.Set {
	var text strings.Builder
	text.WriteString(s.node.set.String())
	for _, p := range s.node.input.Pods {
		for _, peers := range s.node.input.Addresses {
			for _, port := range []int{80, 443} {
				if !s.node.input.Subnet.Contains(peers[0]) {
					fmt.Fprintf(&text, "table=80,priority=150,tcp,nw_src=%s,nw_dst=%s,tp_dst=%d,actions=output:NXM_NX_REG2[]\n", peers[0], p.Address, port)
				}
			}
		}
	}
	return openflow.Verbatim(text.String())
}

// replace applies a set in one bundle, and returns how long that takes.
func (s *policyBench) replace(set openflow.Set) time.Duration {
	s.b.Helper()
	start := time.Now()
	if err := s.node.bridge.Replace(s.b.Context(), set); err != nil {
		s.b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkPolicyOf200Pods compares a policy of 200 pods and 200 peers, from the object until its flows are installed, with a bundle that has a flow for each
// pod, peer and port, and one more pod in it with one more in a policy of 20 pods and 20 peers.
func BenchmarkPolicyOf200Pods(b *testing.B) {
	v := newSwitch(b)
	large, small := newPolicyBench(b, v, 1, 200, 200), newPolicyBench(b, v, 2, 20, 20)
	expand := &policyBench{b: b, node: v.node(3, sdn.NetworkPolicy)} // a keeper would not find what it has written
	var conjunctive, product, moreLarge, moreSmall []time.Duration
	var added, changed, expanded int
	for b.Loop() {
		for range benchRounds {
			expansion, without := large.product(), large.node.set
			expand.replace(without)
			product = append(product, expand.replace(expansion))
			expanded = expansion.Len() - without.Len()
			large.enforce(true)
			conjunctive = append(conjunctive, large.apply())
			added = large.node.set.Len() - without.Len()

			before := large.node.set
			large.add(200)
			moreLarge = append(moreLarge, large.apply())
			changed = differentLines(before.String(), large.node.set.String())
			large.remove()

			small.enforce(true)
			small.apply()
			small.add(20)
			moreSmall = append(moreSmall, small.apply())
			small.remove()
			for _, s := range []*policyBench{large, small} {
				s.enforce(false)
				s.apply()
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(added), "flows")
	b.ReportMetric(float64(expanded), "product-flows")
	report(b, "policy", conjunctive, "product", product)
	b.ReportMetric(float64(changed), "pod-flows")
	report(b, "pod", moreLarge, "pod-of-20", moreSmall)
}

// report reports the medians of two durations, and their ratio.
func report(b *testing.B, name string, all []time.Duration, peer string, peers []time.Duration) {
	b.Helper()
	own, other := durations.Median(all), durations.Median(peers)
	b.ReportMetric(float64(own)/1e6, name+"-ms")
	b.ReportMetric(float64(other)/1e6, peer+"-ms")
	b.ReportMetric(float64(own)/float64(other), name+"/"+peer)
}

// differentLines returns how many lines only one of two texts has.
func differentLines(one, other string) int {
	count := map[string]int{}
	for line := range strings.Lines(one) {
		count[line]++
	}
	for line := range strings.Lines(other) {
		count[line]--
	}
	n := 0
	for _, c := range count {
		n += max(c, -c)
	}
	return n
}

// largeNode is the input of a node with 250 pods in a cluster of 500 nodes, and 200 policies, each for the pods of a namespace.
func largeNode() sdn.Input {
	in := nodeInput(1, sdn.NetworkPolicy)
	in.Peers = nil
	for i := range 500 {
		in.Peers = append(in.Peers, sdn.Peer{Name: fmt.Sprint("node-", i), Address: netip.AddrFrom4([4]byte{192, 0, byte(3 + i>>8), byte(i)}),
			Subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(129 + i>>7), byte(2 * i), 0}), 23)})
	}
	policies := netpolicy.Input{}
	for i := range 250 {
		namespace := fmt.Sprint("ns-", i%50)
		id, address := netpolicy.ID{Namespace: namespace, Name: fmt.Sprint("pod-", i)}, netip.AddrFrom4([4]byte{10, 128, 2, byte(3 + i)})
		in.VNIDs[namespace], in.Addresses[id] = uint32(10+i%50), []netip.Addr{address}
		in.Pods = append(in.Pods, sdn.Pod{ID: id, Address: address, MAC: sdn.PodMAC(address), Port: uint32(10 + i), VNID: in.VNIDs[namespace]})
		policies.Pods = append(policies.Pods, netpolicy.Pod{ID: id, Labels: map[string]string{"app": fmt.Sprint("app-", i%4)}, Addresses: in.Addresses[id]})
	}
	for i := range 50 {
		policies.Namespaces = append(policies.Namespaces, netpolicy.Namespace{Name: fmt.Sprint("ns-", i), Labels: map[string]string{"team": fmt.Sprint(i % 10)}})
	}
	for i := range 200 {
		policies.Policies = append(policies.Policies, policy(fmt.Sprint("ns-", i%50), fmt.Sprint("policy-", i), networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: selector("team", fmt.Sprint(i%10)), PodSelector: selector("app", fmt.Sprint("app-", i%4))}},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(int32(8000 + i)))}},
			}},
		}))
	}
	in.Policies = netpolicy.Translate(policies).Policies
	return in
}

// BenchmarkRestartOfOpenVSwitch measures from the time when a killed ovs-vswitchd accepts connections again until it has all flows of a large node, compared
// with one replace-flows of that set.
func BenchmarkRestartOfOpenVSwitch(b *testing.B) {
	v := newSwitch(b)
	n := v.node(1, sdn.NetworkPolicy)
	n.input = largeNode()
	n.apply()
	set := n.set
	applied := make(chan time.Time, 100)
	keeper := flows.Keeper{Bridge: n.bridge, Resync: time.Hour, MatchFragments: true, Applied: func(_ openflow.Set, err error) {
		if err == nil {
			applied <- time.Now()
		}
	}}
	keep(b, &keeper)
	<-keeper.Set(set)
	var restored, replaced []time.Duration
	for b.Loop() {
		for range benchRounds {
			v.kill()
			answers := v.answers(n.bridge.Name)
			for len(applied) > 0 {
				<-applied
			}
			restored = append(restored, (<-applied).Sub(answers))
			if differences, err := n.bridge.Differences(b.Context(), set); err != nil || len(differences) > 0 {
				b.Fatalf("after the restart %d flows differ: %v", len(differences), err)
			}
			for _, s := range []openflow.Set{openflow.Verbatim(""), set} {
				start := time.Now()
				if err := n.bridge.Replace(b.Context(), s); err != nil {
					b.Fatal(err)
				}
				if s.Len() > 0 {
					replaced = append(replaced, time.Since(start))
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(set.Len()), "flows")
	report(b, "restored", restored, "replace-flows", replaced)
}

// kill kills ovs-vswitchd, and waits until it has ended.
func (v *vswitch) kill() {
	v.t.Helper()
	pattern := "ovs-vswitchd unix:" + filepath.Join(v.runDir, "db.sock")
	out, err := exec.Command("pgrep", "-f", pattern).Output()
	if err != nil {
		v.t.Fatal(err)
	}
	before := strings.TrimSpace(string(out))
	if err := exec.Command("kill", "-9", before).Run(); err != nil {
		v.t.Fatal(err)
	}
	eventually.Holds(v.t, "the process has ended", func() (string, bool) {
		out, _ := exec.Command("pgrep", "-f", pattern).Output()
		return string(out), strings.TrimSpace(string(out)) != before
	})
}

// answers waits until a bridge accepts connections, and returns when.
func (v *vswitch) answers(bridge string) time.Time {
	v.t.Helper()
	for deadline := time.Now().Add(eventually.Limit); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", filepath.Join(v.runDir, bridge+".mgmt"))
		if err == nil {
			_ = conn.Close()
			return time.Now()
		}
		if time.Now().After(deadline) {
			v.t.Fatalf("bridge %s does not answer: %v", bridge, err)
		}
	}
}
