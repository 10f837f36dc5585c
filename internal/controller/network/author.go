package network

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// author is the field manager that wrote the specification last, as far as the object tells: kubectl-edit, argocd, the
// operator's own controller for a NetworkConfig.
func author(n *operatorv1.Network) string {
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
