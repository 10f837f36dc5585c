package operator

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/networks"
)

// TestTheClustersNamespaces: on plain Kubernetes a user may create a namespace with OpenShift's prefix.
func TestTheClustersNamespaces(t *testing.T) {
	for _, tc := range []struct {
		namespace       string
		openshift, want bool
	}{
		{operatorNamespace, false, true},
		{"openshift-flannel", false, true},
		{"openshift-of-a-user", false, false},
		{"openshift-ovn-kubernetes", true, true},
		{"shop", true, false},
	} {
		if got := ofCluster(tc.namespace, networks.Registry().Operands(), tc.openshift); got != tc.want {
			t.Errorf("%s, OpenShift %t: %t", tc.namespace, tc.openshift, got)
		}
	}
}
