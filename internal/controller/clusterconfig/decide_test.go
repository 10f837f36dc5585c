package clusterconfig

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

func newPipeline() pipeline.Pipeline {
	return pipeline.Pipeline{Registry: networks.Registry(), Log: slog.New(slog.DiscardHandler)}
}

// recorded is the record of a configuration that is applied, with everything filled in.
func recorded(t *testing.T, spec *configv1.NetworkSpec, change ...func(*operatorv1.NetworkSpec)) applied.Record {
	t.Helper()
	base := desiredFrom(&configv1.Network{Spec: *spec}).over(&operatorv1.NetworkSpec{})
	for _, f := range change {
		f(base)
	}
	result, err := newPipeline().Run(context.Background(), pipeline.Input{Desired: base, Cluster: facts.Cluster{HostMTU: 1500}}, pipeline.Fill)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := applied.NewSnapshot(result.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return applied.Record{State: applied.StateApplied, Applied: snapshot, Number: 1}
}

func operatorWith(spec *configv1.NetworkSpec, change ...func(*operatorv1.NetworkSpec)) *operatorv1.Network {
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	n.Spec = *desiredFrom(&configv1.Network{Spec: *spec}).over(&n.Spec)
	for _, f := range change {
		f(&n.Spec)
	}
	return n
}

func TestDecide(t *testing.T) {
	badProxy := func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: "here"} }
	for _, row := range []struct {
		why      string
		config   *configv1.NetworkSpec
		operator *operatorv1.Network
		record   applied.Record
		cluster  facts.Cluster
		write    bool
		unsafe   bool
		contains []string
	}{
		{why: "a fresh cluster", config: good(), write: true},
		{why: "they are equal", config: good(), operator: operatorWith(good()), record: recorded(t, good())},
		{why: "another client has changed Network.operator, even unsafely: it is restored", config: good(),
			operator: operatorWith(good(services("172.31.0.0/16"))), record: recorded(t, good()), write: true},
		{why: "something else in Network.operator is wrong, which is not this object's fault", config: good(),
			operator: operatorWith(good(services()), badProxy), write: true},
		{why: "the same while a network is in use", config: good(),
			operator: operatorWith(good(services()), badProxy), record: recorded(t, good()), write: true},
		{why: "services of a network in use", config: good(services("172.31.0.0/16")), operator: operatorWith(good()), record: recorded(t, good()),
			unsafe: true, contains: []string{"spec.serviceNetwork: ", "services would keep their old addresses", "undo the change"}},
		{why: "the same while something else is wrong in Network.operator", config: good(services("172.31.0.0/16")), operator: operatorWith(good(), badProxy), record: recorded(t, good()),
			unsafe: true, contains: []string{"services would keep their old addresses"}},
		{why: "all that is unsafe is reported at once, with the field that the user has", config: good(services("172.31.0.0/16"), func(s *configv1.NetworkSpec) { s.NetworkType = "Calico" }),
			operator: operatorWith(good()), record: recorded(t, good()), unsafe: true, contains: []string{"spec.networkType: ", "cannot change default network type", "services would keep"}},
		{why: "without Network.operator, too", config: good(services("172.31.0.0/16")), record: recorded(t, good()), unsafe: true, contains: []string{"services would keep"}},
		{why: "another client has already written an unsafe change", config: good(services("172.31.0.0/16")), operator: operatorWith(good(services("172.31.0.0/16"))), record: recorded(t, good()),
			unsafe: true, contains: []string{"services would keep"}},
		{why: "a network that this version cannot install", config: good(func(s *configv1.NetworkSpec) { s.NetworkType = "Kuryr" }), contains: []string{"spec.networkType: "}},
		{why: "a typing error", config: good(func(s *configv1.NetworkSpec) { s.NetworkType = "Flanel" }), contains: []string{"did you mean Flannel?"}},
		{why: "a third party's network", config: good(func(s *configv1.NetworkSpec) { s.NetworkType = "Calico" }), write: true},
		{why: "two pools of one family, for which Network.operator has the settings of kube-proxy",
			config: good(pods(entry("10.0.0.0/22", 24), entry("10.2.0.0/22", 23)), services("192.168.0.0/20"), func(s *configv1.NetworkSpec) { s.NetworkType = "None" }), write: true},
		{why: "what the network itself wants", config: good(pods(entry("10.128.0.0/14", 0))), contains: []string{"spec.clusterNetwork[0].hostPrefix: is missing; network type Flannel"}},
		{why: "the pool has the address of a node", config: good(), cluster: facts.Cluster{NodeAddresses: map[string][]netip.Addr{"a": {netip.MustParseAddr("10.128.0.1")}}},
			contains: []string{"spec.clusterNetwork[0].cidr: 10.128.0.0/14 contains node a address 10.128.0.1"}},
		{why: "invalid on its own", config: good(services()), contains: []string{"spec.serviceNetwork: must have at least 1 entry"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			w := &input{config: &configv1.Network{Spec: *row.config}, operator: row.operator, record: row.record, cluster: row.cluster}
			v, err := decide(t.Context(), newPipeline(), w)
			if err != nil {
				t.Fatal(err)
			}
			got := problemOf(v)
			if v.write != row.write || v.unsafe != row.unsafe || (got == problem{}) != (len(row.contains) == 0) {
				t.Errorf("write %t, unsafe %t, problem %+v", v.write, v.unsafe, got)
			}
			for _, text := range row.contains {
				if !strings.Contains(got.message, text) {
					t.Errorf("%q does not contain %q", got.message, text)
				}
			}
		})
	}
}

// TestAcknowledgedChangeIsWrittenWithItsAcknowledgement: the annotation is requested on Network.operator.
func TestAcknowledgedChangeIsWrittenWithItsAcknowledgement(t *testing.T) {
	config := &configv1.Network{Spec: *good()}
	config.Annotations = map[string]string{pipeline.AcknowledgeAnnotation: "abc"}
	w := desiredFrom(config)
	if w.matches(operatorWith(good())) {
		t.Error("a Network without the annotation has it")
	}
	if got := w.object().GetAnnotations()[pipeline.AcknowledgeAnnotation]; got != "abc" {
		t.Errorf("the annotation is %q", got)
	}
}
