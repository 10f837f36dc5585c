package ovnkubernetes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

const (
	accept, require, plain = agentconfig.PhaseAccept, agentconfig.PhaseRequire, agentconfig.PhasePlain
	off                    = agentconfig.Phase("")
)

// in is a report of a phase with no keys for some peers.
func in(phase agentconfig.Phase, peers int, missing ...string) agentconfig.Report {
	return agentconfig.Report{Phase: phase, Peers: peers, Missing: missing}
}

func TestPhaseStartsWhenAllNodesReportThePrevious(t *testing.T) {
	type reports = map[string]agentconfig.Report
	for _, tc := range []struct {
		why     string
		on      bool
		state   ipsecState
		want    agentconfig.Phase
		message string
	}{
		{"it is off, and stays so", false, ipsecState{ready: []string{"a", "b"}}, off, ""},
		{"a new network has no packet in the clear", true, ipsecState{fresh: true}, require, ""},
		{"a network in use is turned on", true, ipsecState{ready: []string{"a", "b"}}, accept, "turns IPsec on"},
		{"no agent runs yet", true, ipsecState{phase: accept, ready: []string{"a", "b"}}, accept, "have not applied it yet: a and b"},
		{"one has no keys with the other", true, ipsecState{phase: accept, ready: []string{"a", "b"}, reports: reports{"a": in(accept, 1), "b": in(accept, 1, "a")}}, accept, "it is not encrypted from b to a"},
		{"one does not know a node that has joined", true, ipsecState{phase: accept, ready: []string{"a", "b", "c"}, reports: reports{"a": in(accept, 2), "b": in(accept, 1), "c": in(accept, 2)}}, accept, "b to nodes that have joined"},
		{"all encrypt", true, ipsecState{phase: accept, ready: []string{"a", "b"}, reports: reports{"a": in(accept, 1), "b": in(accept, 1)}}, require, ""},
		{"a node that is not Ready is not waited for", true, ipsecState{phase: accept, ready: []string{"a", "b"}, reports: reports{"a": in(accept, 2, "c"), "b": in(accept, 2, "c")}}, require, ""},
		{"it stays required, also when a node joins", true, ipsecState{phase: require, ready: []string{"a", "b", "c"}, reports: reports{"a": in(require, 1)}}, require, ""},
		{"it stays required, also when the DaemonSet is lost", true, ipsecState{phase: require, fresh: true}, require, ""},
		{"turned off", false, ipsecState{phase: require, ready: []string{"a"}}, accept, "turns IPsec off"},
		{"a node would drop packets in the clear still", false, ipsecState{phase: accept, ready: []string{"a", "b"}, reports: reports{"a": in(accept, 1), "b": in(require, 1)}}, accept, "have not applied it yet: b"},
		{"all accept both", false, ipsecState{phase: accept, ready: []string{"a", "b"}, reports: reports{"a": in(accept, 1), "b": in(accept, 1)}}, plain, "turns IPsec off"},
		{"keys are of no matter then", false, ipsecState{phase: accept, ready: []string{"a", "b"}, reports: reports{"a": in(accept, 1, "b"), "b": in(accept, 1)}}, plain, "turns IPsec off"},
		{"a node encrypts still", false, ipsecState{phase: plain, ready: []string{"a", "b"}, reports: reports{"a": in(plain, 1), "b": in(accept, 1)}}, plain, "have not applied it yet: b"},
		{"none encrypts", false, ipsecState{phase: plain, ready: []string{"a"}, reports: reports{"a": in(plain, 0)}}, off, ""},
		{"turned on again meanwhile", true, ipsecState{phase: plain, ready: []string{"a"}}, accept, "turns IPsec on"},
	} {
		got, message := nextPhase(tc.on, tc.state)
		if got != tc.want || !strings.Contains(message, tc.message) || tc.message == "" && message != "" {
			t.Errorf("%s: phase %q, %q; want %q, %q", tc.why, got, message, tc.want, tc.message)
		}
	}
}

// TestNoPhaseIsSkipped follows all ways of turning on and off, with nodes that are in the phase before or in the present one: no node may refuse what
// another one still sends.
func TestNoPhaseIsSkipped(t *testing.T) {
	sends := map[agentconfig.Phase]bool{off: false, plain: false, accept: true, require: true} // encrypted, at best
	for _, from := range []agentconfig.Phase{off, accept, require, plain} {
		for _, on := range []bool{true, false} {
			for _, mixed := range []agentconfig.Phase{off, accept, require, plain} {
				s := ipsecState{phase: from, ready: []string{"a", "b"}, reports: map[string]agentconfig.Report{"a": in(from, 1), "b": in(mixed, 1)}}
				next, _ := nextPhase(on, s)
				if next == require && from != require && !sends[mixed] {
					t.Errorf("from %q with a node in %q packets in the clear are refused", from, mixed)
				}
				if (next == plain || next == off) && from != next && mixed == require {
					t.Errorf("from %q with a node in %q, which refuses packets in the clear, they are sent", from, mixed)
				}
			}
		}
	}
}

func TestProblemsNameTheirNode(t *testing.T) {
	s := ipsecState{ready: []string{"a", "b", "c", "d"}, reports: map[string]agentconfig.Report{
		"a": {Phase: require},
		"b": {Phase: require, Problems: []string{"the node's certificate is not renewed; it expires at 2026-03-02T12:00:00Z: not signed yet"}},
		"c": {Phase: require, Problems: []string{"there are no keys with node e: received AUTHENTICATION_FAILED notify error"}},
		"z": {Phase: require, Problems: []string{"a node that is not Ready"}},
	}}
	want := []string{
		"IPsec of node b: the node's certificate is not renewed; it expires at 2026-03-02T12:00:00Z: not signed yet",
		"IPsec of node c: there are no keys with node e: received AUTHENTICATION_FAILED notify error",
	}
	if diff := cmp.Diff(want, s.problems()); diff != "" {
		t.Error(diff)
	}
}

// TestIPsecIsObserved reads the phase and the reports of a cluster, of which one is forged.
func TestIPsecIsObserved(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	pod := func(node, report string) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: "ovn-ipsec-" + node, Labels: map[string]string{"app": ipsecName},
			Annotations: map[string]string{agentconfig.IPsecAnnotation: report}}, Spec: corev1.PodSpec{NodeName: node}}
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.IPsecConfigMap}, Data: map[string]string{agentconfig.KeyIPsecPhase: "require"}}
	reader := fake.NewClientBuilder().WithObjects(config, node("a", corev1.ConditionTrue), node("b", corev1.ConditionFalse), node("c", corev1.ConditionTrue),
		pod("a", `{"phase":"require","peers":2}`), pod("c", `{"phase":"none"}`)).Build()
	s, err := observeIPsec(t.Context(), reader, true)
	if err != nil || s.phase != require || !slices.Equal(s.ready, []string{"a", "c"}) || len(s.reports) != 1 || s.reports["a"].Peers != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	config.Data[agentconfig.KeyIPsecPhase] = "damaged"
	if s, err = observeIPsec(t.Context(), fake.NewClientBuilder().WithObjects(config).Build(), false); err != nil || s.phase != accept {
		t.Errorf("with a damaged phase: %+v, %v", s, err)
	}
}

// TestIPsecIsRenderedAsLongAsItIsInUse has the objects of IPsec stay until all nodes send in the clear.
func TestIPsecIsRenderedAsLongAsItIsInUse(t *testing.T) {
	mode := func(m osv1.IPsecMode) *osv1.IPsecConfig { return &osv1.IPsecConfig{Mode: m} }
	for _, tc := range []struct {
		why      string
		config   *osv1.IPsecConfig
		state    ipsecState
		rendered bool
	}{
		{"full", mode(osv1.IPsecModeFull), ipsecState{}, true},
		{"without a mode, as early versions had it", mode(""), ipsecState{}, true},
		{"the administrator runs IPsec", mode(osv1.IPsecModeExternal), ipsecState{}, false},
		{"off", mode(osv1.IPsecModeDisabled), ipsecState{}, false},
		{"off, while nodes refuse packets in the clear", mode(osv1.IPsecModeDisabled), ipsecState{phase: require}, true},
	} {
		spec := New().Default(network(nil), nil, cluster("192.0.2.10"))
		spec.DefaultNetwork.OVNKubernetesConfig.IPsecConfig = tc.config
		out, err := observed{ipsec: tc.state}.Render(spec, cluster("192.0.2.10"))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(out.Objects, func(o manifest.Object) bool { return o.Key().Kind == "DaemonSet" && o.Key().Name == ipsecName }); got != tc.rendered {
			t.Errorf("%s: rendered %v", tc.why, got)
		}
	}
}

func TestTheMTULeavesRoomForIPsec(t *testing.T) {
	for _, tc := range []struct {
		why       string
		of        func(func(*osv1.OVNKubernetesConfig)) *operatorv1.NetworkSpec
		mode      osv1.IPsecMode
		hosts     int
		byDefault uint32
		most      uint32
	}{
		{"none", with, osv1.IPsecModeDisabled, 1500, 1400, 1442},
		{"the administrator's, by the kernel", with, osv1.IPsecModeExternal, 1500, 1354, 1396},
		{"the administrator's, with jumbo frames", with, osv1.IPsecModeExternal, 9000, 8854, 8896},
		{"by the kernel or by charon, which encrypts 1,400 bytes, of which Geneve needs 58", with, osv1.IPsecModeFull, 1500, 1342, 1369},
		{"jumbo frames do not help charon; an explicit MTU is for nodes whose kernel encrypts", with, osv1.IPsecModeFull, 9000, 1342, 8869},
		{"links that carry less than charon", with, osv1.IPsecModeFull, 1480, 1334, 1349},
		{"over IPv6: none", alone, osv1.IPsecModeDisabled, 1500, 1400, 1422},
		{"over IPv6: the administrator's, by the kernel", alone, osv1.IPsecModeExternal, 1500, 1354, 1376},
		{"over IPv6: by charon, of whose 1,400 bytes Geneve needs 78", alone, osv1.IPsecModeFull, 1500, 1322, 1329},
		{"over IPv6, with IPv4 as the second family", sixFirst, osv1.IPsecModeFull, 1500, 1322, 1329},
		{"over IPv6: links that carry less than charon, whose header has 20 bytes more", alone, osv1.IPsecModeFull, 1480, 1309, 1309},
	} {
		spec := tc.of(func(c *osv1.OVNKubernetesConfig) { c.IPsecConfig = &osv1.IPsecConfig{Mode: tc.mode} })
		known := facts.Cluster{HostMTU: tc.hosts}
		filled := New().Default(spec, nil, known)
		if mtu := *filled.DefaultNetwork.OVNKubernetesConfig.MTU; mtu != tc.byDefault {
			t.Errorf("%s: the default MTU is %d", tc.why, mtu)
		}
		for mtu, valid := range map[uint32]bool{tc.byDefault: true, tc.most: true, tc.most + 1: false} {
			filled.DefaultNetwork.OVNKubernetesConfig.MTU = &mtu
			if errs := New().CheckLinks(filled, known); (len(errs) == 0) != valid {
				t.Errorf("%s: MTU %d: %v", tc.why, mtu, errs)
			}
		}
	}
}

// TestTheDefaultMTUIsKeptWhenIPsecIsEnabled: pods keep the MTU that the network began with; nodes whose ESP does not carry it are reported.
func TestTheDefaultMTUIsKeptWhenIPsecIsEnabled(t *testing.T) {
	for _, tc := range []struct {
		why           string
		given, before *uint32
		want          uint32
	}{
		{"that of a network without IPsec", nil, new(uint32(1369)), 1369},
		{"that of a former version", nil, new(uint32(1354)), 1354},
		{"an explicit one of a new network", new(uint32(8854)), nil, 8854},
		{"an explicit one of a network in use", new(uint32(1360)), new(uint32(1342)), 1360},
	} {
		spec, applied := network(nil), network(nil)
		spec.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{MTU: tc.given, IPsecConfig: &osv1.IPsecConfig{Mode: osv1.IPsecModeFull}}
		applied.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{MTU: tc.before}
		if got := *New().Default(spec, applied, facts.Cluster{HostMTU: 9000}).DefaultNetwork.OVNKubernetesConfig.MTU; got != tc.want {
			t.Errorf("%s: the MTU is %d, want %d", tc.why, got, tc.want)
		}
	}
}
