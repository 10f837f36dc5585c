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

// memory is the controller's persistent state in the ConfigMap operator-status, so that a restart or a new leader does not affect the
// status. It is read once.
type memory struct {
	client    client.Client
	namespace string
	log       *slog.Logger

	loaded bool
	of     status.Memory
	// controllers are the last published conditions of controllers.
	controllers []osv1.OperatorCondition
	// saved is the last written data.
	saved map[string]string
	// missing is true if the ConfigMap was deleted and must be written again.
	missing atomic.Bool
}

// load reads the ConfigMap once. An unreadable one counts as empty.
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
		m.log.Warn("the stored start times of problems are unreadable; starting now", "configmap", status.ConfigMapName, "error", err)
	}
	if text := cm.Data[status.KeyControllers]; text != "" {
		if err := json.Unmarshal([]byte(text), &m.controllers); err != nil {
			m.log.Warn("the stored conditions of controllers are unreadable", "configmap", status.ConfigMapName, "error", err)
		}
	}
	m.saved, m.loaded = cm.Data, true
	return nil
}

// seen stores the start times of problems even if nothing can be written, so that a webhook that rejects all writes leads to Degraded after
// two minutes as well. Announcements are stored by save.
func (m *memory) seen(d status.Decision) { m.of.Seen = d.Memory.Seen }

// save stores the memory of a decision, and writes it if it differs.
func (m *memory) save(ctx context.Context, d status.Decision) error {
	missing := m.missing.Swap(false)
	data, err := encode(d)
	if err != nil {
		return err
	}
	if missing || !maps.Equal(data, m.saved) {
		cm := corev1ac.ConfigMap(status.ConfigMapName, m.namespace).WithData(data)
		if err := m.client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
			m.missing.Store(true)
			return fmt.Errorf("write memory of status: %w", err)
		}
		m.saved = data
	}
	m.of, m.controllers = d.Memory, d.Controllers
	return nil
}

// encode returns the data of the ConfigMap.
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

// deleted passes the deletion of the ConfigMap, and sets missing.
func (m *memory) deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool {
			ok := e.Object.GetNamespace() == m.namespace && e.Object.GetName() == status.ConfigMapName
			if ok {
				m.missing.Store(true)
			}
			return ok
		},
	}
}
