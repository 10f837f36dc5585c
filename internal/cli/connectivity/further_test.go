package connectivity

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/netprobe"
)

const storage = "default/storage"

func further() []place {
	return []place{{node: "a", pod: []string{"192.0.2.1", "2001:db8::1"}}, {node: "b", pod: []string{"192.0.2.2", "2001:db8::2"}}, {node: "c"}}
}

func TestPodsOnAFurtherNetworkReachOneAnotherOverIt(t *testing.T) {
	all := furtherScenarios(further(), storage)
	var names []string
	ids := map[string]bool{}
	for _, s := range all {
		ids[s.ID] = true
		if s.from == "a" && s.to == "b" {
			names = append(names, s.name+" "+s.Host)
		}
		if s.from == "c" || s.to == "c" || s.onHost {
			t.Errorf("%s cannot be tried", s.name)
		}
	}
	var want []string
	for _, address := range []string{"IPv4 192.0.2.2", "IPv6 2001:db8::2"} {
		family, ip, _ := strings.Cut(address, " ")
		for _, way := range []string{"TCP", "UDP", "TCP, full packets", "UDP, full packets"} {
			want = append(want, "pod on a -> pod on b over default/storage ("+family+", "+way+") "+ip)
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if len(ids) != len(all) {
		t.Errorf("%d scenarios have %d names", len(all), len(ids))
	}
}

func TestTheHopOfAFurtherNetworkIsNamed(t *testing.T) {
	all := furtherScenarios(further()[:2], storage)
	for _, row := range []struct {
		why, want string
		fails     func(scenario) bool
	}{
		{"nothing", "", func(scenario) bool { return false }},
		{"full packets", "pod on a -> pod on b over default/storage: packets of the full MTU", func(s scenario) bool { return s.Size == netprobe.Full && s.from == "a" && s.to == "b" }},
		{"pods of one node", "pod -> pod on b over default/storage: the node does not pass packets", func(s scenario) bool { return s.from == "b" && s.to == "b" }},
		{"the link between the nodes", "node a -> node b over default/storage: pods reach only pods of their own node", func(s scenario) bool { return s.from != s.to }},
		{"everything from a node whose own pods fail", "pod -> own node on a, before b", func(s scenario) bool { return s.from == "a" }},
		{"everything to a node whose own pods fail", "node b -> its pod, after a", func(s scenario) bool { return s.to == "b" }},
		{"one protocol", "pod on a -> pod on b over default/storage: not everything passes", func(s scenario) bool { return s.from == "a" && s.to == "b" && s.Way == netprobe.UDP }},
	} {
		results := map[string]netprobe.Result{}
		for _, s := range all {
			results[s.ID] = netprobe.Result{ID: s.ID}
			if row.fails(s) {
				results[s.ID] = netprobe.Result{ID: s.ID, Error: "i/o timeout"}
			}
		}
		hops := furtherHops(all, results, storage)
		if len(hops) == 0 && row.want == "" {
			continue
		}
		if row.want == "" || !slices.ContainsFunc(hops, func(h string) bool { return strings.HasPrefix(h, row.want) }) {
			t.Errorf("%s: %q", row.why, hops)
		}
	}
}

func TestPodsAskForTheNetworkInItsNamespace(t *testing.T) {
	s := fixture{namespace: "default", network: storage, run: "x1"}
	p := s.pod("server", "a", false, nil)
	if p.Namespace != "default" || p.Annotations["k8s.v1.cni.cncf.io/networks"] != storage || s.selector() != label+"=x1" || p.Labels[label] != "x1" || p.Labels["app"] != "" {
		t.Errorf("%+v", p.ObjectMeta)
	}
	status := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"k8s.v1.cni.cncf.io/network-status": `[{"name":"flannel","ips":["10.0.0.1"]},{"name":"default/storage","ips":["192.0.2.1","2001:db8::1"]}]`}}}
	if diff := cmp.Diff([]string{"192.0.2.1", "2001:db8::1"}, addressesOn(status, storage)); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"storage", "/storage", "default/", "Default/storage", "a/b/c"} {
		if _, err := namespaceOf(wrong); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("--network %s: %v", wrong, err)
		}
	}
}
