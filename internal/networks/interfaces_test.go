package networks

import (
	"testing"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// TestAnInterfaceThatNoNodeHasIsRefused: agents would find no link to other nodes, and pods would lose one another.
func TestAnInterfaceThatNoNodeHasIsRefused(t *testing.T) {
	on := func(name string) *operatorv1.NetworkSpec {
		return withMTU(0, func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.FlannelConfig.Interface = name })
	}
	for _, tc := range []struct {
		why           string
		applied, next *operatorv1.NetworkSpec
		known         []string
		want          bool
	}{
		{"a fresh cluster", nil, on("nosuch9"), []string{"eth0"}, true},
		{"a change", on(""), on("nosuch9"), []string{"eth0"}, true},
		{"what is applied already blocks no other edit", on("nosuch9"), on("nosuch9"), []string{"eth0"}, false},
		{"the rollback", on("nosuch9"), on("eth0"), []string{"eth0"}, false},
		{"one that a node has", nil, on("eth1"), []string{"eth0", "eth1"}, false},
		{"that of the default route", nil, on(""), []string{"eth0"}, false},
		{"nodes that were not asked", nil, on("nosuch9"), nil, false},
	} {
		t.Run(tc.why, func(t *testing.T) {
			in := pipeline.Input{Desired: tc.next, Applied: tc.applied, Cluster: oneNode(), Revision: 1}
			in.Cluster.Interfaces = tc.known
			res, err := pipeline.Pipeline{Registry: Registry()}.Run(t.Context(), in, pipeline.Check)
			if got := pipeline.RefusalsOf(err).Has(pipeline.RuleInterfaces); got != tc.want {
				t.Errorf("refused %t, want %t: %v", got, tc.want, err)
			}
			if tc.want && res.Acknowledgement != "" {
				t.Error("it can be acknowledged")
			}
		})
	}
}
