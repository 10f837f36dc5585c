package hostsync

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

// ConfigMaps publishes reports as ConfigMaps.
type ConfigMaps struct{ Client corev1.ConfigMapsGetter }

// Publish applies the ConfigMap of the node, and takes over fields of other clients.
func (p ConfigMaps) Publish(ctx context.Context, report nodereport.Report) error {
	data, err := report.Encode()
	if err != nil {
		return err
	}
	cm := corev1ac.ConfigMap(nodereport.Name(report.Node), nodereport.Namespace).WithLabels(map[string]string{nodereport.Label: ""}).WithData(data)
	_, err = p.Client.ConfigMaps(nodereport.Namespace).Apply(ctx, cm, metav1.ApplyOptions{FieldManager: "host-network-sync", Force: true})
	return err
}
