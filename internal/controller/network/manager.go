package network

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// lastManager returns the field manager that last wrote the specification according to the managed fields: for example kubectl-edit,
// argocd, or the operator's own controller for a NetworkConfig.
func lastManager(n *operatorv1.Network) string {
	var last metav1.ManagedFieldsEntry
	for _, e := range n.ManagedFields {
		if e.Subresource != "" || e.FieldsV1 == nil || !bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
			continue
		}
		if last.Time == nil || e.Time != nil && !e.Time.Before(last.Time) {
			last = e
		}
	}
	return last.Manager
}
