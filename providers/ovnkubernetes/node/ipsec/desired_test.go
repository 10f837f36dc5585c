package ipsec

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

func TestEachPeerHasAConnectionForItsTunnelsOnly(t *testing.T) {
	s := Settings{Name: "a", Address: address("192.0.2.1"), Port: 6081, Certificate: []byte("der")}
	got := Desired(s, []Peer{{"b.example", address("192.0.2.2")}})
	one := func(local, remote string) child {
		return child{LocalTS: []string{local}, RemoteTS: []string{remote}, Mode: "tunnel", Proposals: []string{"aes128gcm16-ecp256"}, Rekey: "14400s", DPDAction: "clear", Start: "none", Close: "none"}
	}
	want := map[string]Connection{"ovn-b_example": {
		Version: "2", Local: []string{"192.0.2.1"}, Remote: []string{"192.0.2.2"}, Proposals: []string{"aes256gcm16-prfsha384-ecp384"}, Unique: "replace", DPD: "5s", Reauth: "43200s",
		Mobike: "no", Encap: "no", Tries: "1", Certify: "always",
		LocalAuth: local{Auth: "pubkey", ID: "fqdn:a", Certificates: []string{"der"}}, RemoteAuth: remote{Auth: "pubkey", ID: "fqdn:b.example"},
		Children: map[string]child{
			"to": one("192.0.2.1/32[udp]", "192.0.2.2/32[udp/6081]"), "from": one("192.0.2.1/32[udp/6081]", "192.0.2.2/32[udp]"),
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.Transport, s.Encapsulate, s.Port = true, true, 16081
	c := Desired(s, []Peer{{"b", address("192.0.2.2")}})["ovn-b"]
	if c.Encap != "yes" || c.Children["to"].Mode != "transport" || c.Children["to"].RemoteTS[0] != "192.0.2.2/32[udp/16081]" {
		t.Errorf("with the kernel: %+v", c)
	}
	if len(Desired(s, nil)) != 0 {
		t.Error("a node alone has connections")
	}
}

func TestOneSideInitiates(t *testing.T) {
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}, {"node1", "node10"}} {
		if Initiates(pair[0], Peer{Name: pair[1]}) == Initiates(pair[1], Peer{Name: pair[0]}) {
			t.Errorf("%v: both or none begins", pair)
		}
	}
}

func TestRestartedSideInitiatesSooner(t *testing.T) {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	soon, late := since.Add(time.Second), since.Add(otherAfter+time.Second)
	for _, tc := range []struct {
		why   string
		peer  peerState
		now   time.Time
		again bool
		want  bool
	}{
		{"the first charon of a node that never had keys", peerState{since: since}, soon, false, false},
		{"which has none for long", peerState{since: since}, late, false, true},
		{"a charon that has started again", peerState{since: since}, soon, true, true},
		{"which has begun already", peerState{since: since, initiated: soon}, soon, true, false},
		{"which had begun before it started again", peerState{since: since, initiated: since.Add(-time.Second)}, soon, true, true},
		{"keys were complete until now", peerState{since: since, complete: true}, late, false, false},
	} {
		if got := tc.peer.shouldInitiate(tc.now, since, tc.again); got != tc.want {
			t.Errorf("%s: %v", tc.why, got)
		}
	}
}

func TestPeersAreNodesWithTheirOwnAddress(t *testing.T) {
	node := func(name string, addresses ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, a := range addresses {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		return n
	}
	for _, tc := range []struct {
		why     string
		nodes   []*corev1.Node
		want    []Peer
		message string
	}{
		{"itself is none", []*corev1.Node{node("a", "192.0.2.1")}, nil, ""},
		{"sorted, by their IPv4 address", []*corev1.Node{node("c", "2001:db8::3", "192.0.2.3"), node("b", "192.0.2.2")}, []Peer{{"b", address("192.0.2.2")}, {"c", address("192.0.2.3")}}, ""},
		{"a node that has not started", []*corev1.Node{node("b")}, nil, ""},
		{"what is no address", []*corev1.Node{node("b", "x")}, nil, ""},
		{"two with one address", []*corev1.Node{node("c", "192.0.2.2"), node("b", "192.0.2.2"), node("d", "192.0.2.4")}, []Peer{{"d", address("192.0.2.4")}}, "nodes b, c have the same address 192.0.2.2"},
		{"one with the node's own address", []*corev1.Node{node("b", "192.0.2.1")}, nil, "nodes a, b have the same address 192.0.2.1"},
	} {
		got, err := Peers(tc.nodes, "a", address("192.0.2.1"))
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
		if (err != nil) != (tc.message != "") || err != nil && !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%s: %v", tc.why, err)
		}
	}
}

func TestPeerIsEncryptedWithBothChildSAs(t *testing.T) {
	peer := Peer{Name: "b"}
	for _, tc := range []struct {
		why  string
		all  []Association
		want []string
	}{
		{"none", nil, []string{"from", "to"}},
		{"another peer's", []Association{{Connection: "ovn-c", Established: true, Children: []string{"from", "to"}}}, []string{"from", "to"}},
		{"one is missing", []Association{{Connection: "ovn-b", Established: true, Children: []string{"to"}}}, []string{"from"}},
		{"not authenticated", []Association{{Connection: "ovn-b", Established: false, Children: []string{"from", "to"}}}, []string{"from", "to"}},
		{"of two associations, while one replaces the other", []Association{{Connection: "ovn-b", Established: true, Children: []string{"to"}}, {Connection: "ovn-b", Established: true, Children: []string{"from"}}}, nil},
	} {
		if diff := cmp.Diff(tc.want, missing(tc.all, peer)); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
	if got := stray([]Association{{Connection: "ovn-b"}, {Connection: "ovn-c"}, {Connection: "other"}}, map[string]Connection{"ovn-b": {}}); len(got) != 1 || got[0] != "ovn-c" {
		t.Errorf("stray: %v", got)
	}
}

func TestSecondAssociationIsSuperfluous(t *testing.T) {
	usable := func(id, idle uint32) Association {
		return Association{Connection: "ovn-b", Established: true, Children: []string{"from", "to"}, ID: id, Idle: idle}
	}
	half := usable(3, 0)
	half.Children = []string{"to"}
	for _, tc := range []struct {
		why  string
		self string
		all  []Association
		want []uint32
	}{
		{"none", "a", nil, nil},
		{"one", "a", []Association{usable(1, 0)}, nil},
		{"packets are sent with the first", "a", []Association{usable(1, 0), usable(2, neverSent)}, []uint32{2}},
		{"packets are sent with the second", "a", []Association{usable(1, 30), usable(2, 0)}, []uint32{1}},
		{"no packet was sent: the latest is kept", "a", []Association{usable(1, neverSent), usable(2, neverSent), usable(3, neverSent)}, []uint32{1, 2}},
		{"the other side removes", "c", []Association{usable(1, 0), usable(2, 0)}, nil},
		{"one that is not complete does not count", "a", []Association{usable(1, 0), half}, nil},
		{"of another peer", "a", []Association{usable(1, 0), {Connection: "ovn-d", Established: true, Children: []string{"from", "to"}, ID: 2}}, nil},
	} {
		if diff := cmp.Diff(tc.want, surplus(tc.all, tc.self, []Peer{{Name: "b"}, {Name: "d"}})); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
	}
}

func TestUnencryptedPacketsAreDroppedWhenEncryptionIsRequired(t *testing.T) {
	for _, phase := range []agentconfig.Phase{agentconfig.PhaseAccept, agentconfig.PhasePlain, ""} {
		if rules := cleartextRules(phase, address("192.0.2.1"), 6081, kernel{}.conditions()); rules != nil {
			t.Errorf("phase %q: %v", phase, rules)
		}
	}
	for _, tc := range []struct {
		esp               ESP
		address           string
		arriving, leaving string
	}{
		{&userspace{}, "2001:db8::1", `iifname != lo iifname != ovs-underlay iifname != "ipsec*" ip6 daddr 2001:db8::1 udp dport 6081 counter drop`,
			`oifname != lo oifname != ovs-underlay oifname != "ipsec*" ip6 saddr { 2001:db8::1 , fd69::1 } udp dport 6081 counter drop`},
		{&userspace{}, "192.0.2.1", `iifname != lo iifname != ovs-underlay iifname != "ipsec*" ip daddr 192.0.2.1 udp dport 6081 counter drop`,
			`oifname != lo oifname != ovs-underlay oifname != "ipsec*" ip saddr { 192.0.2.1 , 169.254.100.1 } udp dport 6081 counter drop`},
		{kernel{}, "192.0.2.1", `iifname != lo iifname != ovs-underlay meta secpath missing ip daddr 192.0.2.1 udp dport 6081 counter drop`,
			`oifname != lo oifname != ovs-underlay rt ipsec missing ip saddr { 192.0.2.1 , 169.254.100.1 } udp dport 6081 counter drop`},
	} {
		want := map[string][]string{"arriving": {tc.arriving}, "leaving": {tc.leaving}}
		if diff := cmp.Diff(want, cleartextRules(agentconfig.PhaseRequire, address(tc.address), 6081, tc.esp.conditions())); diff != "" {
			t.Errorf("%s, %s: %s", tc.esp.Name(), tc.address, diff)
		}
	}
}

func TestPhasesSelectThePeersToEncryptTo(t *testing.T) {
	ago := time.Now().Add(-time.Minute)
	peers := []Peer{{"long", address("192.0.2.2")}, {"just", address("192.0.2.3")}, {"none", address("192.0.2.4")}}
	for phase, want := range map[agentconfig.Phase]int{agentconfig.PhasePlain: 0, agentconfig.PhaseAccept: 1, agentconfig.PhaseRequire: 3} {
		s := &state{phase: phase, peers: map[string]*peerState{"long": {complete: true, since: ago}, "just": {complete: true, since: time.Now()}, "none": {since: ago}}}
		if got := s.encrypted(peers); len(got) != want {
			t.Errorf("%s: %v", phase, got)
		}
	}
}

// TestErrorsOfCharonAreTheReason has lines as charon writes them.
func TestErrorsOfCharonAreTheReason(t *testing.T) {
	d := daemon{reasons: &reasons{}}
	for _, tc := range []struct {
		line  string
		level slog.Level
	}{
		{"06[IKE] <ovn-node2|3> no trusted ECDSA public key found for 'node2'", slog.LevelWarn},
		{"07[IKE] <ovn-node3|4> received AUTHENTICATION_FAILED notify error, authentication failed", slog.LevelWarn},
		{"08[IKE] <ovn-node2|5> sending keep alive to 192.0.2.2[4500]", slog.LevelDebug},
		{"00[LIB] plugin 'vici' failed to load", slog.LevelWarn},
	} {
		if got := d.level(tc.line); got != tc.level {
			t.Errorf("%s: %s", tc.line, got)
		}
	}
	s := &state{peers: map[string]*peerState{"node2": {since: time.Now().Add(-time.Minute)}, "node4": {since: time.Now().Add(-time.Minute)}, "node5": {since: time.Now()}}}
	s.reasons.set("ovn-node2", d.reasons.get("ovn-node2"))
	err := s.peerProblem([]Peer{{"node2", address("192.0.2.2")}, {"node4", address("192.0.2.4")}, {"node5", address("192.0.2.5")}})
	want := "there are no keys with node node2: no trusted ECDSA public key found for 'node2'\nthere are no keys with node node4: no answer; UDP ports 500 and 4500 of 192.0.2.4 must be open"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestCharonLoadsThePluginsOfTheESPMode(t *testing.T) {
	for esp, want := range map[ESP]bool{&userspace{}: true, kernel{}: false} {
		text := configuration("/run/x/charon.vici", esp.plugins()...)
		if strings.Contains(strings.Split(text, "install_routes")[0], "kernel-libipsec") != want || !strings.Contains(text, "socket = unix:///run/x/charon.vici") {
			t.Errorf("%s: %s", esp.Name(), text)
		}
	}
}

func TestPacketsThatESPCannotCarryAreReported(t *testing.T) {
	for _, row := range []struct {
		why  string
		six  bool
		mtu  int
		esp  ESP
		want string
	}{
		{"charon reads 1,400 bytes, of which Geneve needs 58", false, 1342, &userspace{}, ""},
		{"one byte more", false, 1343, &userspace{}, "pods have an MTU of 1343 bytes, and larger packets than 1342 bytes to and from other nodes are lost"},
		{"jumbo frames do not help", false, 8854, &userspace{}, "lower spec.defaultNetwork.ovnKubernetesConfig.mtu to 1342 by spec.migration.mtu"},
		{"over IPv6 Geneve needs 78", true, 1322, &userspace{}, ""},
		{"one byte more over IPv6", true, 1323, &userspace{}, "larger packets than 1322 bytes"},
		{"the kernel is limited by its links only", false, 8854, kernel{}, ""},
	} {
		if err := fits(row.mtu, row.esp, topology.GeneveOverhead(row.six)); (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}
