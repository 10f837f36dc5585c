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
	// ConfigMapName is the ConfigMap, in the operator's namespace, with the names of the operator's current and former MachineConfigs that
	// a pool may use.
	ConfigMapName = "machine-configs"
	// keyNames is its key; the value is a JSON list of names.
	keyNames = "names"
	// fieldManager owns the fields of that ConfigMap.
	fieldManager = client.FieldOwner("cluster-network-operator/machineconfig")
)

func managedSelector() labels.Selector { return labels.SelectorFromSet(managed) }

// observe reads the input of decide.
func (c *Controller) observe(ctx context.Context) (input, error) {
	var w input
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
	w.Recorded = decodeNames(record.Data[keyNames])
	return w, nil
}

// decodeNames reads the record. An unreadable record counts as empty: at worst, a MachineConfig that is being removed is no longer
// reported.
func decodeNames(text string) []string {
	var names []string
	if json.Unmarshal([]byte(text), &names) != nil {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// writeRecord writes the names if they have changed.
func (c *Controller) writeRecord(ctx context.Context, before, names []string) error {
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
	c.Log.Info("recorded MachineConfigs", "names", names)
	return nil
}

func metadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(machineconfigv1.GroupVersion.WithKind("MachineConfigList"))
	return list
}
