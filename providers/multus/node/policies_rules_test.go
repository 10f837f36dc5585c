package node

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// table is that of a pod; empty if there is none.
func (s sandbox) table() string {
	out, err := s.Try("nft", "list", "table", "inet", policy.Table)
	if err != nil {
		return ""
	}
	return out
}

// refused reports whether rules of the output refuse a packet.
func (s sandbox) refused(t *testing.T, to string) bool {
	t.Helper()
	var answer error
	err := ns.WithNetNSPath(s.Path(), func(ns.NetNS) error {
		conn, err := net.Dial("udp", to)
		if err != nil {
			return err
		}
		_, answer = conn.Write([]byte("x"))
		return conn.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return errors.Is(answer, syscall.EPERM)
}

func (s sandbox) must(t *testing.T, command string) {
	t.Helper()
	if err := s.do(command); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func (n *policyNode) apply() {
	n.t.Helper()
	if err := n.e.apply(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *policyNode) event() string {
	select {
	case e := <-n.events.Events:
		return e
	default:
		return ""
	}
}

// remove deletes a policy.
func (n *policyNode) remove(name string) {
	n.t.Helper()
	if err := n.dyn.Tracker().Delete(resourcePolicies, "ns", name); err != nil {
		n.t.Fatal(err)
	}
	object, _, _ := n.e.objects.policies.GetByKey("ns/" + name)
	if err := n.e.objects.policies.Delete(object); err != nil {
		n.t.Fatal(err)
	}
	n.e.objects.note(object, object)
}

func TestInterfacesOfEveryPluginAreIsolated(t *testing.T) {
	static := `"ipam":{"type":"static","addresses":[{"address":"192.0.2.9/24"}]}`
	gateway := strings.Replace(static, `/24"`, `/24","gateway":"192.0.2.1"`, 1)
	for plugin, config := range map[string]string{
		"macvlan": `"master":"up0","mode":"bridge",` + static, "bridge": `"bridge":"br-lan",` + static, "ptp": gateway, "tap": static, "host-device": `"device":"up0",` + static,
	} {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			n := newPolicyNode(t)
			n.lan(`{"cniVersion":"1.0.0","name":"lan","plugins":[{"type":"` + plugin + `",` + config + `}]}`)
			n.policy("deny", "lan", denyAll)
			pod := n.pod("pod", nil)
			pod.must(t, cniproto.Add)
			if !pod.refused(t, "192.0.2.1:9") {
				t.Errorf("a packet passes; the rules are\n%s", pod.table())
			}
			n.remove("deny")
			n.apply()
			if pod.refused(t, "192.0.2.1:9") || pod.table() != "" {
				t.Errorf("without the policy packets are refused; the rules are\n%s", pod.table())
			}
			pod.must(t, cniproto.Delete)
		})
	}
}

func TestRulesFollowPoliciesAndPeers(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	pod := n.pod("pod", map[string]string{"app": "web"})
	pod.must(t, cniproto.Add)
	if have := pod.table(); have != "" {
		t.Errorf("rules without a policy: %s", have)
	}
	n.policy("egress", "lan", map[string]any{
		"podSelector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "policyTypes": []any{"Egress"},
		"egress": []any{map[string]any{"to": []any{map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "peer"}}}}}},
	})
	n.apply()
	if !pod.refused(t, "192.0.2.1:9") {
		t.Error("a policy that was created later is not enforced")
	}
	// The peer has the address in its status, which its node's daemon writes.
	n.peer("peer", "192.0.2.1")
	n.apply()
	if pod.refused(t, "192.0.2.1:9") || !pod.refused(t, "192.0.2.2:9") {
		t.Errorf("the peer is not allowed, or others are:\n%s", pod.table())
	}
	n.peer("peer", "192.0.2.2")
	n.apply()
	if !pod.refused(t, "192.0.2.1:9") || pod.refused(t, "192.0.2.2:9") {
		t.Errorf("the peer has another address now:\n%s", pod.table())
	}
	// A pod that the API server has no more, and whose sandbox lives, keeps its rules.
	n.e.sandbox("pod").pod = nil
	n.remove("egress")
	n.apply()
	if pod.table() == "" {
		t.Error("the rules of a pod that is not known were removed")
	}
	if err := RemovePolicies(n.e.config); err != nil || pod.table() != "" {
		t.Errorf("policies are switched off: %v, %s", err, pod.table())
	}
}

// peer is a pod of another node with an address on the network.
func (n *policyNode) peer(name, address string) {
	n.t.Helper()
	read, err := toPeer(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "peer"},
		Annotations: map[string]string{wire.AnnotationStatus: `[{"name":"ns/lan","ips":["` + address + `"]}]`}}})
	if err != nil {
		n.t.Fatal(err)
	}
	before, _, _ := n.e.objects.pods.GetByKey("ns/" + name)
	if err := n.e.objects.pods.Add(read); err != nil {
		n.t.Fatal(err)
	}
	n.e.objects.note(before, read)
}

func TestRulesChangedByAThirdPartyAreRestored(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	n.policy("deny", "lan", denyAll)
	pod := n.pod("pod", nil)
	pod.must(t, cniproto.Add)
	want := pod.table()
	n.apply()
	if e := n.event(); e != "" {
		t.Errorf("an event about rules that no one changed: %s", e)
	}
	pod.Run("nft", "flush", "ruleset")
	n.apply()
	if have := pod.table(); have != want {
		t.Errorf("the rules are\n%s\nand were\n%s", have, want)
	}
	if e := n.event(); !strings.Contains(e, reasonRestored) {
		t.Errorf("event %q", e)
	}
	if rulesInterval.Seconds() > 9 {
		t.Error("rules are to be restored within ten seconds")
	}
	// A daemon that has just started has no state of the kernel, and writes the rules without an event.
	pod.Run("nft", "flush", "ruleset")
	n.e.sandboxes = map[string]*enforced{"pod": {pod: n.e.sandbox("pod").pod}}
	n.apply()
	if have := pod.table(); have != want {
		t.Errorf("after a restart the rules are\n%s\nand were\n%s", have, want)
	}
	if e := n.event(); e != "" {
		t.Errorf("after a restart: %s", e)
	}
}

func TestCHECKComparesTheRules(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	n.policy("deny", "lan", denyAll)
	pod := n.pod("pod", nil)
	pod.must(t, cniproto.Add)
	check := func() error {
		return n.ask(t.Context(), wire.CommandCheckPolicies, wire.PoliciesRequest{Pod: wire.Pod{Namespace: "ns", Name: "pod", UID: "pod"}, Sandbox: "pod"}, nil)
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	pod.Run("nft", "flush", "ruleset")
	if err := check(); err == nil || !strings.Contains(err.Error(), "a third party has changed the rules") {
		t.Errorf("rules that were flushed: %v", err)
	}
	if err := check(); err != nil {
		t.Errorf("rules that were restored: %v", err)
	}
}

func TestInvalidPolicyIsReportedOnceByNodesThatUseIt(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	n.policy("elsewhere", "other/Lan", denyAll)
	n.apply()
	if e := n.event(); e != "" {
		t.Errorf("no pod of the node is concerned: %s", e)
	}
	n.remove("elsewhere")
	n.policy("wrong", "Lan", denyAll)
	pod := n.pod("pod", nil)
	pod.must(t, cniproto.Add)
	if !pod.refused(t, "192.0.2.1:9") {
		t.Error("a policy whose networks cannot be read does not isolate")
	}
	for range 2 {
		n.apply()
	}
	if e := n.event(); !strings.Contains(e, reasonInvalidPolicy) || !strings.Contains(e, "policy-for") {
		t.Errorf("event %q", e)
	}
	if e := n.event(); e != "" {
		t.Errorf("it is reported again: %s", e)
	}
}

func TestPodStartsWithTheCurrentPolicies(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	n.policy("deny", "lan", denyAll)
	stored, _, _ := n.e.objects.policies.GetByKey("ns/deny")
	if err := n.e.objects.policies.Delete(stored); err != nil {
		t.Fatal(err)
	}
	pod := n.pod("pod", nil)
	done := make(chan error, 1)
	go func() { done <- pod.do(cniproto.Add) }()
	select {
	case err := <-done:
		t.Fatalf("the pod starts before the watch has the policy: %v", err)
	default:
	}
	if err := n.e.objects.policies.Add(stored); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || !pod.refused(t, "192.0.2.1:9") {
		t.Errorf("%v; the rules are\n%s", err, pod.table())
	}
	// While the API server does not answer, the policies of the watch are the newest that are known.
	n.dyn.PrependReactor("list", "multi-networkpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	})
	n.plan.Attachments[0].List = []byte(strings.Replace(macvlanConfig, "192.0.2.9", "192.0.2.10", 1))
	timeoutError := n.pod("late", nil)
	timeoutError.must(t, cniproto.Add)
	if !timeoutError.refused(t, "192.0.2.1:9") {
		t.Errorf("the rules are\n%s", timeoutError.table())
	}
}

func TestWithoutRulesAPodDoesNotStart(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	n.policy("deny", "lan", denyAll)
	for why, row := range map[string]struct {
		change func()
		code   int
	}{
		"the pod is another one":               {func() { n.plan.Attachments[0].Interface = "net1" }, cniproto.CodeTryAgain},
		"the interface cannot stand in a rule": {func() { n.plan.Attachments[0].Interface = "net*" }, cniproto.CodeInvalidConfig},
	} {
		row.change()
		pod := n.pod(strings.ReplaceAll(why[:9], " ", "-")+"p", nil)
		if row.code == cniproto.CodeTryAgain {
			pod.id = "nosuch"
		}
		err := pod.do(cniproto.Add)
		if err == nil || cniproto.AsError(err).Code != row.code {
			t.Errorf("%s: %v", why, err)
		}
		if links := pod.Run("ip", "-o", "link"); strings.Contains(links, "net1") {
			t.Errorf("%s: left: %s", why, links)
		}
	}
}

func TestCustomRulesPass(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	n.policy("deny", "lan", denyAll)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(n.e.config.PolicyRules, customIPv4), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pod := n.pod("pod", nil)
	pod.must(t, cniproto.Add)
	write("# monitoring\nudp dport 9 counter accept\n-p icmp -j ACCEPT\nudp dport 10 accept; flush ruleset\n")
	n.apply()
	if pod.refused(t, "192.0.2.1:9") || !pod.refused(t, "192.0.2.1:10") {
		t.Errorf("the rules are\n%s", pod.table())
	}
	problems := strings.Join(n.e.board.View().Problems.Sentences(), "\n")
	for _, want := range []string{`"-p icmp -j ACCEPT"`, `flush ruleset" of ConfigMap multi-networkpolicy-custom-rules is ignored: it is more than one rule`} {
		if !strings.Contains(problems, want) {
			t.Errorf("%s is missing in\n%s", want, problems)
		}
	}
	write("")
	n.apply()
	if !pod.refused(t, "192.0.2.1:9") || len(n.e.board.View().Problems.Sentences()) > 0 {
		t.Errorf("removed rules still pass, or are still problems: %v", n.e.board.View().Problems.Sentences())
	}
}
