package machineconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ConfigMapName is the ConfigMap, in the operator's namespace, with the names of MachineConfigs that are or were the
	// operator's and that a pool may still use.
	ConfigMapName = "machine-configs"
	// keyNames is its key; the value is a JSON list of names.
	keyNames = "names"
	// fieldManager owns the fields of that ConfigMap.
	fieldManager = client.FieldOwner("cluster-network-operator/machineconfig")
)

func ours() labels.Selector { return labels.SelectorFromSet(managed) }

// gather reads everything that decide looks at.
func (c *Controller) gather(ctx context.Context) (world, error) {
	var w world
	configs := metadataList()
	if err := c.Client.List(ctx, configs); err != nil {
		return w, fmt.Errorf("list MachineConfigs: %w", err)
	}
	for i := range configs.Items {
		if m := &configs.Items[i]; m.DeletionTimestamp.IsZero() {
			w.Configs = append(w.Configs, config{Name: m.Name, Labels: m.Labels})
		}
	}
	var pools machineconfigv1.MachineConfigPoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		return w, fmt.Errorf("list MachineConfigPools: %w", err)
	}
	w.Pools = pools.Items
	var record corev1.ConfigMap
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ConfigMapName}, &record)
	if client.IgnoreNotFound(err) != nil {
		return w, fmt.Errorf("read ConfigMap %s: %w", ConfigMapName, err)
	}
	w.Remembered = decodeNames(record.Data[keyNames])
	return w, nil
}

// decodeNames reads the record. What someone has made of it that is no list of names is forgotten: the worst that
// comes of it is that a MachineConfig which was being removed is no longer followed.
func decodeNames(text string) []string {
	var names []string
	if json.Unmarshal([]byte(text), &names) != nil {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// remember writes the names if they have changed. Where there never was one, nothing is written.
func (c *Controller) remember(ctx context.Context, before, names []string) error {
	if slices.Equal(before, names) {
		return nil
	}
	if names == nil {
		names = []string{}
	}
	encoded, err := json.Marshal(names)
	if err != nil {
		return fmt.Errorf("encode names of MachineConfigs: %w", err)
	}
	record := corev1ac.ConfigMap(ConfigMapName, c.Namespace).WithLabels(managed).WithData(map[string]string{keyNames: string(encoded)})
	if err := c.Client.Apply(ctx, record, fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", ConfigMapName, err)
	}
	c.Log.Info("MachineConfigs are followed", "names", names)
	return nil
}

func metadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(machineconfigv1.GroupVersion.WithKind("MachineConfigList"))
	return list
}
