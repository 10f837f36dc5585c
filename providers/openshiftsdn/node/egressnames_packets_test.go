package node_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/net/dns/dnsmessage"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nameserver"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// nameZone is what a name server answers. Its zero value answers that no name exists.
type nameZone struct {
	mu      sync.Mutex
	answers map[string]nameserver.Reply
	// asked are the numbers of questions by UDP.
	asked map[string]int
}

// set changes the answers for a name. A nil reply is SERVFAIL.
func (z *nameZone) set(name string, reply nameserver.Reply) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if reply == nil {
		reply = func(dnsmessage.Question, bool) dnsmessage.Message {
			return dnsmessage.Message{Header: dnsmessage.Header{RCode: dnsmessage.RCodeServerFailure}}
		}
	}
	z.answers[name+"."] = reply
}

func (z *nameZone) reply(q dnsmessage.Question, tcp bool) dnsmessage.Message {
	z.mu.Lock()
	if !tcp {
		z.asked[q.Name.String()]++
	}
	answer := z.answers[q.Name.String()]
	z.mu.Unlock()
	if answer == nil {
		return dnsmessage.Message{Header: dnsmessage.Header{RCode: dnsmessage.RCodeNameError}}
	}
	return answer(q, tcp)
}

func (z *nameZone) questions(name string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.asked[name+"."]
}

// address answers with the outside address that ends with last.
func address(last byte, ttl uint32) nameserver.Reply {
	return func(q dnsmessage.Question, _ bool) dnsmessage.Message {
		return dnsmessage.Message{Answers: []dnsmessage.Resource{nameserver.Record(q.Name.String(), ttl, &dnsmessage.AResource{A: outsideIP(last).As4()})}}
	}
}

func outsideIP(last byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, last}) }

// byTCP answers only by TCP; by UDP the answer is truncated.
func byTCP(reply nameserver.Reply) nameserver.Reply {
	return func(q dnsmessage.Question, tcp bool) dnsmessage.Message {
		if !tcp {
			return dnsmessage.Message{Header: dnsmessage.Header{Truncated: true}}
		}
		return reply(q, tcp)
	}
}

// alias answers with another name and its address.
func alias(name string, last byte) nameserver.Reply {
	return func(q dnsmessage.Question, _ bool) dnsmessage.Message {
		return dnsmessage.Message{Answers: []dnsmessage.Resource{
			nameserver.Record(q.Name.String(), 1, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(name + ".")}),
			nameserver.Record(name+".", 300, &dnsmessage.AResource{A: outsideIP(last).As4()}),
		}}
	}
}

// startAgentWithNameServer starts the agent with a resolv.conf of its own.
func (m *machine) startAgentWithNameServer(address string) {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("nameserver "+address+"\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.agent = nodetest.Start(m.t, m.at, m.name+", run", []string{"NODE_NAME=" + m.name, "KUBECONFIG=" + m.kubeconfig},
		append([]string{"unshare", "--mount", "--propagation", "slave", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, file}, m.restricted("run", program, "run", "--config", m.file)...)...)
}

// TestEgressFirewallFollowsNameServer sends connections of pods to addresses that a name server gives, while its answers change.
func TestEgressFirewallFollowsNameServer(t *testing.T) {
	c := newCluster(t, agentconfig.NetworkPolicy)
	c.namespace("one", 10)
	c.namespace("two", 11)
	node := c.node()
	node.agent.Kill() // it may not have begun to handle signals
	outside, _ := c.outside(t)
	for last := byte(101); last <= 113; last++ {
		outside.Run("ip", "address", "add", outsideIP(last).String()+"/24", "dev", "eth0")
	}
	zone := &nameZone{answers: map[string]nameserver.Reply{}, asked: map[string]int{}}
	if err := ns.WithNetNSPath(outside.Path(), func(ns.NetNS) error {
		_, err := nameserver.Serve(t, net.JoinHostPort(outsideAddress, "53"), zone.reply)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slow, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, reply := range map[string]nameserver.Reply{
		"moves.test": address(101, 1), "fails.test": address(102, 1), "ends.test": address(103, 1), "large.test": byTCP(address(104, 1)), "alias.test": alias("real.test", 105),
		"zero.test": address(106, 0), "denied.test": address(107, 1), "long.test": address(108, 3600),
		"slow.test": func(dnsmessage.Question, bool) dnsmessage.Message { <-slow.Done(); return dnsmessage.Message{} },
	} {
		zone.set(name, reply)
	}
	const allow, deny = sdnv1.EgressNetworkPolicyRuleAllow, sdnv1.EgressNetworkPolicyRuleDeny
	rule := func(kind sdnv1.EgressNetworkPolicyRuleType, cidr, name string) sdnv1.EgressNetworkPolicyRule {
		return sdnv1.EgressNetworkPolicyRule{Type: kind, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: cidr, DNSName: name}}
	}
	rules := []sdnv1.EgressNetworkPolicyRule{rule(deny, "", "denied.test"), rule(allow, outsideIP(107).String()+"/32", ""), rule(allow, outsideIP(109).String()+"/32", "")}
	for _, name := range []string{"slow", "moves", "fails", "ends", "large", "alias", "zero", "long"} {
		rules = append(rules, rule(allow, "", name+".test"))
	}
	rules = append(rules, rule(deny, "0.0.0.0/0", ""))
	for _, namespace := range []string{"one", "two"} {
		c.create(&sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}, Spec: sdnv1.EgressNetworkPolicySpec{Egress: rules}})
	}
	node.startAgentWithNameServer(outsideAddress)
	node.ready()
	pods := []netns.Namespace{node.pod("one", "a", nil).Namespace, node.pod("two", "b", nil).Namespace}
	becomes := func(why string, last byte, open bool) {
		t.Helper()
		for _, pod := range pods {
			eventually.Holds(t, fmt.Sprintf("%s: %s open: %t", why, outsideIP(last), open), func() (string, bool) {
				answer, err := nodetest.Ask(pod, fmt.Sprintf("%s:%d", outsideIP(last), guardedPort), time.Second)
				return fmt.Sprint(answer, err), (err == nil) == open
			})
		}
	}

	for last, why := range map[byte]string{
		101: "an address", 102: "an address", 103: "an address", 104: "an answer by TCP", 105: "an alias", 106: "a TTL of 0", 108: "a long TTL", 109: "a rule by CIDR",
	} {
		becomes(why, last, true)
	}
	for last, why := range map[byte]string{107: "a denied name before an allowed CIDR", 110: "an address of no rule", 100: "the name server itself"} {
		becomes(why, last, false)
	}
	eventually.Holds(t, "an event names the name without an answer", func() (string, bool) {
		var events eventsv1.EventList
		if err := c.client.List(t.Context(), &events); err != nil {
			return err.Error(), false
		}
		notes := ""
		for _, e := range events.Items {
			if e.Reason == "EgressNetworkPolicyNameUnresolved" {
				notes += e.Note
			}
		}
		return notes, strings.Contains(notes, "slow.test")
	})

	changed := time.Now()
	zone.set("moves.test", address(111, 1))
	zone.set("fails.test", nil)
	zone.set("ends.test", func(dnsmessage.Question, bool) dnsmessage.Message {
		return dnsmessage.Message{Header: dnsmessage.Header{RCode: dnsmessage.RCodeNameError}}
	})
	zone.set("denied.test", address(109, 1))
	becomes("a new address", 111, true)
	becomes("the new address of a denied name", 109, false)
	for _, last := range []byte{101, 103} {
		_, err := nodetest.Ask(pods[0], fmt.Sprintf("%s:%d", outsideIP(last), guardedPort), 5*time.Second)
		if since := time.Since(changed); err != nil && since < 20*time.Second {
			t.Errorf("%s is closed %v after the name server ceased to give it: %v", outsideIP(last), since, err)
		}
	}
	becomes("a former address", 101, false)
	becomes("the address of a name that does not exist any more", 103, false)
	if since := time.Since(changed); since < 25*time.Second {
		t.Errorf("former addresses are closed after %v", since)
	}
	becomes("the former address of a denied name", 107, true)
	becomes("a name whose server fails keeps its address", 102, true)

	zone.set("fails.test", address(112, 1))
	zone.set("slow.test", address(113, 1))
	cancel()
	becomes("a server that works again", 112, true)
	becomes("a server that was slow", 113, true)
	if n := zone.questions("long.test"); n != 1 {
		t.Errorf("a name of two policies with a TTL of an hour was asked for %d times", n)
	}
}
