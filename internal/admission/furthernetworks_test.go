package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/multinet/selection"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// TestPodsThatCannotHaveTheirNetworksAreRefused: what the API server refuses, the daemon of a node refuses, too.
func TestPodsThatCannotHaveTheirNetworksAreRefused(t *testing.T) {
	d := newServer(t, inUse())
	ns := d.Namespace(t)
	try := func(networks, fallback string, hostNetwork bool) error {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "asks", Annotations: map[string]string{"other": "1"}},
			Spec: corev1.PodSpec{HostNetwork: hostNetwork, Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
		if networks != "" {
			p.Annotations[wire.AnnotationNetworks] = networks
		}
		if fallback != "" {
			p.Annotations[wire.AnnotationDefault] = fallback
		}
		return d.Client.Create(t.Context(), p, client.DryRunAll)
	}
	long := strings.Repeat("a", 63)
	for _, row := range []struct {
		networks string
		refused  bool
	}{
		{"", false}, {" ", false}, {"a", false}, {" a , " + ns + "/b@data ,default/a@net1.5 ", false}, {ns + "/" + long + "@abcdefghijklmno", false}, {"a-1,0", false},
		{`[{"name":"a"}]`, false}, {"[]", false}, {"{", false}, // JSON is the daemon's
		{"A", true}, {"a b", true}, {"a,", true}, {",a", true}, {"a//b", true}, {"a/b/c", true}, {"a@", true}, {"-a", true}, {"a-", true}, {"a_b", true}, {long + "a", true}, {"a;b", true}, {"a@abcdefghijklmnop", true},
	} {
		err := try(row.networks, "", false)
		if refused := err != nil && strings.Contains(err.Error(), "further-networks-annotation"); refused != row.refused || err != nil && !refused {
			t.Errorf("%q: %v", row.networks, err)
		}
		if _, errs := selection.Parse(row.networks, ns); row.refused && len(errs) == 0 {
			t.Errorf("%q is refused, and the daemon takes it", row.networks)
		}
	}
	for _, row := range []struct {
		why, networks, fallback string
		hostNetwork             bool
		want                    string
	}{
		{"a pod of the node's network that asks", "a", "", true, "further-networks-host-network"},
		{"... for another default network", "", "a", true, "further-networks-host-network"},
		{"... for nothing", "[]", "", true, ""},
		{"... without an annotation", "", "", true, ""},
		{"a network of another namespace", "a," + "other/b@net1", "", false, "the network other/b is in another namespace, which spec.multiNetwork.namespaceIsolation of the Network does not allow; use one of " + ns + ", or of the namespaces default, "},
		{"... in JSON, which the daemon of the node reads", `[{"name":"b","namespace":"other"}]`, "", false, ""},
		{"another default network", "", "a", false, ""},
		{"... by its namespace", "", "openshift-multus/a", false, ""},
		{"... of another namespace", "", ns + "/a", false, "default-network-annotation"},
		{"... two of them", "", "a,b", false, "default-network-annotation"},
	} {
		err := try(row.networks, row.fallback, row.hostNetwork)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

func TestAClusterWithoutMultipleNetworksRefusesNoAnnotation(t *testing.T) {
	d := newServer(t, inUse(func(s *operatorv1.NetworkSpec) { s.DisableMultiNetwork = new(true) }))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace(t), Name: "asks", Annotations: map[string]string{wire.AnnotationNetworks: "A B"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	if err := d.Client.Create(t.Context(), p, client.DryRunAll); err != nil {
		t.Error(err)
	}
}

func TestWithoutIsolationPodsMayAskForAllNetworks(t *testing.T) {
	d := newServer(t, inUse(func(s *operatorv1.NetworkSpec) {
		s.MultiNetwork = &operatorv1.MultiNetworkConfig{NamespaceIsolation: new(false)}
	}))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace(t), Name: "asks", Annotations: map[string]string{wire.AnnotationNetworks: "other/b"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	if err := d.Client.Create(t.Context(), p, client.DryRunAll); err != nil {
		t.Error(err)
	}
}
