package clusterstatus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cluster-network-operator/cno/internal/status"
)

// memory is what the loop remembers, in the ConfigMap operator-status, so that a restart and a change of the leader change
// nothing. It is read once; afterwards the process knows best.
type memory struct {
	client    client.Client
	namespace string
	log       *slog.Logger

	loaded bool
	of     status.Memory
	// controllers are the conditions that were published last.
	controllers []osv1.OperatorCondition
	// saved is the data as it was written last.
	saved map[string]string
	// lost is true once someone has deleted the ConfigMap.
	lost atomic.Bool
}

// load reads the ConfigMap, unless that was done. One that cannot be read is as good as none.
func (m *memory) load(ctx context.Context) error {
	if m.loaded {
		return nil
	}
	var cm corev1.ConfigMap
	err := m.client.Get(ctx, client.ObjectKey{Namespace: m.namespace, Name: status.ConfigMapName}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read memory of status: %w", err)
	}
	if m.of, err = status.DecodeMemory(cm.Data[status.KeyMemory]); err != nil {
		m.log.Warn("the stored durations of problems cannot be read; they are measured from now on", "configmap", status.ConfigMapName, "error", err)
	}
	if text := cm.Data[status.KeyControllers]; text != "" {
		if err := json.Unmarshal([]byte(text), &m.controllers); err != nil {
			m.log.Warn("the conditions of controllers cannot be read", "configmap", status.ConfigMapName, "error", err)
		}
	}
	m.saved, m.loaded = cm.Data, true
	return nil
}

// seen keeps since when each problem has existed, also if nothing can be written: a webhook that refuses every write is
// then Degraded after two minutes like any other problem. What is announced once waits for save.
func (m *memory) seen(d status.Decision) { m.of.Seen = d.Memory.Seen }

// save keeps the memory of a decision, and writes it if it differs from what was written last.
func (m *memory) save(ctx context.Context, d status.Decision) error {
	lost := m.lost.Swap(false)
	data, err := encode(d)
	if err != nil {
		return err
	}
	if lost || !maps.Equal(data, m.saved) {
		cm := corev1ac.ConfigMap(status.ConfigMapName, m.namespace).WithData(data)
		if err := m.client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
			m.lost.Store(true)
			return fmt.Errorf("write memory of status: %w", err)
		}
		m.saved = data
	}
	m.of, m.controllers = d.Memory, d.Controllers
	return nil
}

// encode makes the data of the ConfigMap.
func encode(d status.Decision) (map[string]string, error) {
	text, err := d.Memory.Encode()
	if err != nil {
		return nil, err
	}
	data := map[string]string{status.KeyMemory: text}
	for key, value := range map[string]any{status.KeyControllers: d.Controllers, status.KeyVersions: d.Versions} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		if string(text) != "null" && string(text) != "{}" {
			data[key] = string(text)
		}
	}
	return data, nil
}

// deleted lets through that someone deletes the ConfigMap, and notes it.
func (m *memory) deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool {
			is := e.Object.GetNamespace() == m.namespace && e.Object.GetName() == status.ConfigMapName
			if is {
				m.lost.Store(true)
			}
			return is
		},
	}
}
