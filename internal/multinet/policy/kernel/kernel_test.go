package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/netpolicy/netpolicytest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

const (
	// patience is how long an allowed connection is waited for, refusal how long one that is not: its packets are dropped.
	patience = 30 * time.Second
	refusal  = 200 * time.Millisecond
)

func TestSemanticsOfPoliciesOnAFurtherNetwork(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	for _, row := range netpolicytest.Table() {
		t.Run(row.Why, func(t *testing.T) {
			l.t = t
			l.enforce(row.Policies...)
			var group sync.WaitGroup
			group.Go(func() { l.expect(true, row.Allowed...) })
			group.Go(func() { l.expect(false, row.Denied...) })
			group.Wait()
		})
	}
}

// expect tries connections in both families, all at once.
func (l *link) expect(allowed bool, connections ...string) {
	l.t.Helper()
	wait := refusal
	if allowed {
		wait = patience
	}
	var group sync.WaitGroup
	for _, c := range connections {
		for family, six := range map[string]bool{"IPv4": false, "IPv6": true} {
			group.Go(func() {
				if l.reached(c, six, wait) != allowed {
					l.t.Errorf("%s by %s: allowed is %v, want %v", c, family, !allowed, allowed)
				}
			})
		}
	}
	group.Wait()
}

var deny = networkingv1.NetworkPolicySpec{PodSelector: *netpolicytest.Match("pod=a"), PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"}}

func TestPolicyEndsExistingConnections(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	l.enforce(deny)
	l.enforce(networkingv1.NetworkPolicySpec{PodSelector: *netpolicytest.Match("pod=a"), Ingress: []networkingv1.NetworkPolicyIngressRule{{}}})
	serve(t, l.pods["x/a"])
	conn := dial(t, l.pods["x/b"], "10.0.0.5:80")
	echo := func(wait time.Duration) error {
		if _, err := conn.Write([]byte("?")); err != nil {
			return err
		}
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	if err := echo(patience); err != nil {
		t.Fatal(err)
	}
	l.enforce(deny)
	if err := echo(refusal); err == nil {
		t.Error("the connection lives on")
	}
}

// serve echoes what comes to port 80.
func serve(t *testing.T, n netns.Namespace) {
	t.Helper()
	err := ns.WithNetNSPath(n.Path(), func(ns.NetNS) error {
		listener, err := net.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					buffer := make([]byte, 64)
					for {
						length, err := conn.Read(buffer)
						if err != nil {
							return
						}
						_, _ = conn.Write(buffer[:length])
					}
				}()
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dial(t *testing.T, n netns.Namespace, to string) net.Conn {
	t.Helper()
	var conn net.Conn
	err := ns.WithNetNSPath(n.Path(), func(ns.NetNS) (err error) {
		conn, err = net.DialTimeout("tcp", to, patience)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestRulesNeverOpenWhileTheyAreReplaced has a pod send all the time while its rules change, none of which allows that. Packets through another interface all pass.
func TestRulesNeverOpenWhileTheyAreReplaced(t *testing.T) {
	t.Parallel()
	l := newLink(t)
	sender, receiver := l.pods["x/a"], l.pods["x/b"]
	sender.Run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", receiver.Name)
	for n, address := range map[netns.Namespace]string{sender: "198.51.100.1/24", receiver: "198.51.100.2/24"} {
		n.Run("ip", "link", "set", "eth0", "up")
		n.Run("ip", "addr", "add", address, "dev", "eth0")
	}
	denied, passed := listen(t, receiver, "10.0.1.5:9"), listen(t, receiver, "198.51.100.2:9")
	l.enforce(deny)
	var group sync.WaitGroup
	done := make(chan struct{})
	var sent int64
	group.Go(func() {
		_ = ns.WithNetNSPath(sender.Path(), func(ns.NetNS) error {
			further, err := net.Dial("udp", "10.0.1.5:9")
			if err != nil {
				return err
			}
			pods, err := net.Dial("udp", "198.51.100.2:9")
			if err != nil {
				return err
			}
			for {
				select {
				case <-done:
					_ = further.Close()
					return pods.Close()
				default:
					_, _ = further.Write([]byte("x")) // the rules of the output refuse it: EPERM
					if sent-passed.Load() > 50 {
						continue // the receiver's buffer is small
					}
					if _, err := pods.Write([]byte("x")); err == nil {
						sent++
					}
					time.Sleep(200 * time.Microsecond)
				}
			}
		})
	})
	other := deny
	other.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{PodSelector: netpolicytest.Match("pod=c")}}}}
	for i := range 60 {
		l.enforce([]networkingv1.NetworkPolicySpec{deny, other}[i%2])
	}
	close(done)
	group.Wait()
	eventually.Holds(t, "all packets pass the interface that has no policy", func() (string, bool) {
		return fmt.Sprintf("%d of %d", passed.Load(), sent), sent > 100 && passed.Load() == sent
	})
	if n := denied.Load(); n > 0 {
		t.Errorf("%d packets passed against the policy", n)
	}
}

// listen counts the packets that arrive at an address of a namespace.
func listen(t *testing.T, n netns.Namespace, address string) *atomic.Int64 {
	t.Helper()
	var conn net.PacketConn
	err := ns.WithNetNSPath(n.Path(), func(ns.NetNS) (err error) {
		conn, err = net.ListenPacket("udp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	arrived := &atomic.Int64{}
	go func() {
		for buffer := make([]byte, 16); ; arrived.Add(1) {
			if _, _, err := conn.ReadFrom(buffer); err != nil {
				return
			}
		}
	}()
	return arrived
}

// isolating are rules that isolate net1.
func isolating(t *testing.T) policy.Ruleset {
	t.Helper()
	pod := policy.Pod{Networks: map[string][]netip.Addr{network: nil}}
	pod.ID = netpolicy.ID{Namespace: "x", Name: "a"}
	c := policy.Cluster{Pods: []policy.Pod{pod}, Policies: []policy.Policy{{Networks: []string{network}}}}
	c.Policies[0].Namespace, c.Policies[0].Spec = "x", networkingv1.NetworkPolicySpec{}
	rules, err := policy.Rules(map[string]policy.View{network: c.View(network)}, pod.ID, []policy.Interface{{Name: "net1", Network: network}}, policy.Custom{})
	if err != nil || rules.Empty() {
		t.Fatalf("%v, %s", err, rules)
	}
	return rules
}

func TestThirdPartyChangesAreDetected(t *testing.T) {
	t.Parallel()
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	rules := isolating(t)
	for _, row := range []struct {
		why  string
		do   []string
		want bool
	}{
		{"nothing happens", nil, false},
		{"a table of another program", []string{"add table inet mine; add chain inet mine c"}, false},
		{"all rules are flushed", []string{"flush ruleset"}, true},
		{"the table is flushed", []string{"flush table inet multi_networkpolicy"}, true},
		{"a rule is added", []string{"insert rule inet multi_networkpolicy ingress_0 accept"}, true},
		{"a rule is replaced by one of the same length", []string{"flush chain inet multi_networkpolicy ingress_own", `add rule inet multi_networkpolicy ingress_own iifname "net2" jump ingress_0`}, true},
		{"the table is dormant", []string{"add table inet multi_networkpolicy { flags dormant; }"}, true},
		{"a chain of another program in the table", []string{"add chain inet multi_networkpolicy mine"}, true},
	} {
		t.Run(row.why, func(t *testing.T) {
			pod := netns.New(t, "pod")
			state, err := k.Apply(t.Context(), pod.Path(), rules)
			if err != nil {
				t.Fatal(err)
			}
			before := pod.Run("nft", "list", "ruleset")
			for _, command := range row.do {
				pod.Run("nft", command)
			}
			changed, _, err := k.Changed(pod.Path(), state)
			if err != nil || changed != row.want {
				t.Fatalf("changed is %v, %v", changed, err)
			}
			if !changed {
				return
			}
			if state, err = k.Apply(t.Context(), pod.Path(), rules); err != nil {
				t.Fatal(err)
			}
			if after := pod.Run("nft", "list", "table", "inet", policy.Table); !strings.Contains(before, strings.TrimSpace(after)) {
				t.Errorf("restored:\n%s\nbefore:\n%s", after, before)
			}
			if changed, _, err := k.Changed(pod.Path(), state); changed || err != nil {
				t.Errorf("after it was restored: changed is %v, %v", changed, err)
			}
		})
	}
}

func TestNoTableWithoutRules(t *testing.T) {
	t.Parallel()
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	pod := netns.New(t, "pod")
	for _, rules := range []policy.Ruleset{{}, isolating(t), {}} {
		if _, err := k.Apply(t.Context(), pod.Path(), rules); err != nil {
			t.Fatal(err)
		}
		if have := pod.Run("nft", "list", "tables"); strings.Contains(have, policy.Table) == rules.Empty() {
			t.Errorf("%s\nis what the kernel has of\n%s", have, rules)
		}
	}
	if _, err := k.Apply(t.Context(), pod.Path(), isolating(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be repeated
		if err := Remove(pod.Path()); err != nil {
			t.Fatal(err)
		}
	}
	if have := pod.Run("nft", "list", "tables"); have != "" {
		t.Errorf("left: %s", have)
	}
	for _, err := range []error{Remove("/run/netns/nosuch"), func() error { _, err := k.Apply(t.Context(), "/run/netns/nosuch", policy.Ruleset{}); return err }()} {
		if !errors.Is(err, ErrGone) {
			t.Errorf("a namespace that does not exist: %v", err)
		}
	}
}

func TestRulesAreCheckedWithoutBeingWritten(t *testing.T) {
	t.Parallel()
	k, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{"icmpv6 type nd-neighbor-solicit accept", "tcp dport { 22, 80-90 } accept", "icmp type echo-request limit rate 5/second accept"} {
		if err := k.Check(t.Context(), policy.Ruleset{Chains: []policy.Chain{{Name: "custom", Rules: []string{rule}}}}); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if err := k.Check(t.Context(), policy.Ruleset{Chains: []policy.Chain{{Name: "custom", Rules: []string{"-p icmpv6 -j ACCEPT"}}}}); err == nil {
		t.Error("a rule of iptables is taken")
	}
	if have := netns.Run(t, "nft", "list", "tables"); strings.Contains(have, policy.Table) {
		t.Errorf("a check left %s", have)
	}
}

func TestKernelAcceptsTheTablesOfPolicies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/*.nft")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	pod := netns.New(t, "pod")
	for _, file := range files {
		pod.Run("nft", "--check", "-f", file)
	}
}
