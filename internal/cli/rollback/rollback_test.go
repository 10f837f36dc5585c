package rollback

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// network is a Network with a service range and a log level.
func network(t *testing.T, services, level string) map[string]any {
	t.Helper()
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{services},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}}
	n.Spec.LogLevel = "Normal"
	if level != "" {
		n.Spec.LogLevel = "Debug"
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(n)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestARefusedEditIsNotTheActiveRevision(t *testing.T) {
	p := pipeline.Pipeline{Registry: networks.Registry()}
	known := facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "h", Port: 6443}}
	var n operatorv1.Network
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(network(t, "10.96.0.0/16", ""), &n); err != nil {
		t.Fatal(err)
	}
	res, err := p.Run(t.Context(), pipeline.Input{Desired: &n.Spec, Cluster: known}, pipeline.Fill)
	if err != nil {
		t.Fatal(err)
	}
	s := preview.State{Input: pipeline.Input{Applied: res.Spec, Revision: 7, Cluster: known}}
	for _, row := range []struct {
		why, services, level string
		want                 bool
	}{
		{"what is active", "10.96.0.0/16", "", false},
		{"a harmless edit", "10.96.0.0/16", "Debug", false},
		{"an unsafe edit", "10.97.0.0/16", "", true},
		{"an invalid edit", "10.96.0.0/33", "", true},
	} {
		if got := refused(t.Context(), p, s, network(t, row.services, row.level)); got != row.want {
			t.Errorf("%s: refused is %v", row.why, got)
		}
	}
}

func TestCurrentIsTheActiveRevision(t *testing.T) {
	snapshot, err := applied.NewSnapshot(&operatorv1.NetworkSpec{ServiceNetwork: []string{"10.96.0.0/16"}})
	if err != nil {
		t.Fatal(err)
	}
	record, err := applied.Record{}.Begin(applied.Start{Intent: snapshot, Number: 2, OperatorVersion: "v1"}).MarkApplying()
	if err != nil {
		t.Fatal(err)
	}
	record, active, err := record.MarkApplied(time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	r := preview.Records{Record: record, History: applied.History{}.Append(active)}
	if got, err := revision(r, current); err != nil || got.Number != 2 {
		t.Errorf("current is %d, %v", got.Number, err)
	}
	if _, err := revision(r, ""); err == nil {
		t.Error("there is a revision before the only one")
	}
}
