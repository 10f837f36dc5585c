package connectivity

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/netprobe"
	"github.com/cluster-network-operator/cno/internal/typedclient"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// two is two nodes of both families, with everything running; a node without pods is third.
func two() ([]place, target) {
	return []place{
		{node: "a", host: []string{"192.0.2.1", "2001:db8::1"}, pod: []string{"10.0.1.2", "fd00:1::2"}, served: true},
		{node: "b", host: []string{"192.0.2.2", "2001:db8::2"}, pod: []string{"10.0.2.2", "fd00:2::2"}, served: true},
		{node: "c", host: []string{"192.0.2.3"}},
	}, target{service: []string{"10.96.0.9"}, nodePort: 30000, name: "server.ns.svc", api: []string{"10.96.0.1"}, apiPort: 443}
}

func TestScenariosCoverAllRequiredPaths(t *testing.T) {
	all := scenarios(two())
	names := map[string]bool{}
	for _, s := range all {
		if names[s.name] {
			t.Errorf("%s is twice there", s.name)
		}
		names[s.name] = true
		if s.from == "c" {
			t.Errorf("%s is tried from a node without pods", s.name)
		}
	}
	for _, want := range []string{
		"pod on a -> pod on a (IPv4, TCP)", "pod on a -> pod on b (IPv6, UDP, full packets)", "pod on a -> host a (IPv4)", "pod on a -> host b (IPv6)",
		"pod on a -> host port on b (IPv4)", "pod on a -> node port on b (IPv4)", "pod on a -> service by address (IPv4, UDP)", "pod on a -> service by name",
		"pod on a -> name of the API server", "pod on a -> API server by service (IPv4)", "host a -> host b (IPv4, full packets)", "host a -> pod on a (IPv4)",
		"host a -> pod on b (IPv6)", "host a -> service (IPv4)", "host a -> host c (IPv4, kubelet)", "pod on b -> host c (IPv4, kubelet)",
	} {
		if !names[want] {
			t.Errorf("%s is not tried", want)
		}
	}
	if names["host a -> host a (IPv4, kubelet)"] || len(all) < 60 {
		t.Errorf("there are %d scenarios", len(all))
	}
}

func TestHopIsTheFirstIndependentFailure(t *testing.T) {
	places, services := two()
	all := scenarios(places[:2], services)
	for _, row := range []struct {
		why  string
		want string
		fail func(scenario) bool
	}{
		{"all is well", "", func(scenario) bool { return false }},
		{"a cable", "node a -> node b: the nodes do not reach one another", func(s scenario) bool { return s.from == "a" && s.to == "b" || s.from == "b" && s.to == "a" }},
		{"large packets between hosts", "node a -> node b: some packets are lost", func(s scenario) bool { return s.Size == netprobe.Full && s.from == "a" && s.to == "b" }},
		{"the bridge of a", "pod -> own node on a", func(s scenario) bool { return s.from == "a" && s.to == "a" }},
		{"the tunnel", "node a -> node b, packets of pods", func(s scenario) bool {
			return s.from == "a" && s.to == "b" && (s.kind == podPod || s.kind == hostPod)
		}},
		{"the other pod", "node b -> its pod, after a", func(s scenario) bool {
			return s.to == "b" && (s.kind == hostPod || s.kind == podPod || s.from == "b" && s.kind == podHost)
		}},
		{"services alone", "Services on a:", func(s scenario) bool { return s.from == "a" && strings.Contains(s.name, "service") }},
	} {
		failed := map[string]bool{}
		for _, s := range all {
			failed[s.ID] = row.fail(s)
		}
		sentences := strings.Join(hops(all, failed), "\n")
		if row.want == "" && sentences != "" || !strings.Contains(sentences, row.want) {
			t.Errorf("%s: got\n%s", row.why, sentences)
		}
	}
}

func TestFailuresAreListedFirst(t *testing.T) {
	places, services := two()
	all := scenarios(places, services)
	results := map[string]netprobe.Result{}
	for _, s := range all[1:] {
		results[s.ID] = netprobe.Result{ID: s.ID}
	}
	results[all[5].ID] = netprobe.Result{ID: all[5].ID, Error: "i/o timeout"}
	r := newReport(all, results, nil)
	if r.Failed != 1 || r.Passed != len(all)-2 || r.Scenarios[0].OK || r.Scenarios[0].Error != "i/o timeout" || len(r.Hops) != 1 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.print(&text); err != nil || !strings.HasPrefix(text.String(), "FAIL  ") || !strings.Contains(text.String(), "\nhop   ") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestInterruptedTestIsCleanedUp(t *testing.T) {
	server := apitest.Shared(t)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	server.Create(t, n)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := server.Client.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	api, err := typedclient.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &fixture{api: api, operator: "ns", image: "i", logf: func(string, ...any) { cancel() }}
	if _, err := s.test(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ends with %v", err)
	}
	// No controller empties namespaces here: it is enough that this one ends.
	brief, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	if err := s.cleanUp(brief); err == nil || !strings.Contains(err.Error(), "is being deleted") {
		t.Errorf("%v", err)
	}
	var ns corev1.Namespace
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: s.namespace}, &ns); err != nil || ns.DeletionTimestamp == nil {
		t.Errorf("it stays: %v, %v", ns.DeletionTimestamp, err)
	}
	if _, err := s.places(t.Context(), []string{"missing"}); err == nil {
		t.Error("a node that there is not is tried")
	}
}

// TestExternalTargetIsTestedFromEveryPod: --external is for the way out of the cluster, of either family, by name or by address.
func TestExternalTargetIsTestedFromEveryPod(t *testing.T) {
	places, aim := two()
	for _, row := range []struct {
		flag, host string
		port       int
	}{
		{"example.org:443", "example.org", 443},
		{"203.0.113.7:80", "203.0.113.7", 80},
		{"[2001:db8:1::7]:443", "2001:db8:1::7", 443},
	} {
		host, port, err := outside(row.flag)
		if err != nil || host != row.host || port != row.port {
			t.Errorf("--external %s is %s, %d: %v", row.flag, host, port, err)
		}
		aim.external, aim.externalPort = host, port
		var tried []string
		for _, s := range scenarios(places, aim) {
			if s.Host == row.host && s.Port == row.port && !s.onHost {
				tried = append(tried, s.name)
			}
		}
		want := []string{"pod on a -> " + row.host + " outside", "pod on b -> " + row.host + " outside"}
		if !slices.Equal(tried, want) {
			t.Errorf("--external %s is tried as %q, want %q", row.flag, tried, want)
		}
	}
	for _, wrong := range []string{"example.org", "2001:db8::7", "example.org:https", "example.org:0", "example.org:70000", ":443"} {
		if _, _, err := outside(wrong); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("--external %s: %v", wrong, err)
		}
	}
}

// TestPodsOfOneFamilyAreNotTestedInTheOther: a cluster of IPv6 alone has every scenario that one of IPv4 has.
func TestPodsOfOneFamilyAreNotTestedInTheOther(t *testing.T) {
	names := func(which func(string) bool, service, api string) []string {
		places, aim := two()
		for i, p := range places {
			places[i].pod = slices.DeleteFunc(slices.Clone(p.pod), func(a string) bool { return !which(a) })
			places[i].host = slices.DeleteFunc(slices.Clone(p.host), func(a string) bool { return !which(a) })
		}
		aim.service, aim.api = []string{service}, []string{api}
		var all []string
		for _, s := range scenarios(places[:2], aim) {
			all = append(all, strings.ReplaceAll(s.name, "IPv6", "IPv4"))
			if a, err := netip.ParseAddr(s.Host); err == nil && !which(a.String()) {
				t.Errorf("%s connects to %s", s.name, s.Host)
			}
		}
		return all
	}
	four := names(func(a string) bool { return family(a) == "IPv4" }, "10.96.0.9", "10.96.0.1")
	six := names(func(a string) bool { return family(a) == "IPv6" }, "fd02::9", "fd02::1")
	if len(six) == 0 || !slices.Equal(four, six) {
		t.Errorf("%d scenarios of IPv4, %d of IPv6:\n%q\n%q", len(four), len(six), four, six)
	}
}
