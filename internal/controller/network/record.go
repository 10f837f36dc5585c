package network

import (
	"context"
	"fmt"
	"log/slog"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// memory is the persistent state of the operator.
type memory struct {
	decision  applied.Decision
	record    applied.Record
	history   applied.History
	inventory plan.Inventory
}

// records reads and writes the ConfigMaps with the persistent state.
type records struct {
	cached    client.Reader
	api       *tracker
	namespace string
	log       *slog.Logger
}

// load reads the persistent state. With an *applied.CorruptError it returns the decision Corrupt and the known applied configuration.
func (r records) load(ctx context.Context) (memory, error) {
	var m memory
	data, _, err := r.read(ctx, plan.InventoryName)
	if err != nil {
		return m, err
	}
	if data != nil {
		if m.inventory, err = plan.DecodeInventory(data); err != nil {
			return m, err
		}
	}
	if data, _, err = r.read(ctx, applied.HistoryConfigMapName); err != nil {
		return m, err
	}
	if m.history, err = applied.DecodeHistory(data); err != nil {
		r.log.Warn("the history is unreadable; starting a new one", "error", err)
	}
	data, exists, err := r.read(ctx, applied.ConfigMapName)
	if err != nil {
		return m, err
	}
	m.decision, m.record, err = applied.Decide(applied.Found{Record: exists, Data: data, InventoryEmpty: len(m.inventory) == 0, History: m.history})
	return m, err
}

// read returns the data of a ConfigMap. It reads from the API server if the cache is older than the last write.
func (r records) read(ctx context.Context, name string) (data map[string]string, exists bool, err error) {
	var cm corev1.ConfigMap
	err = r.cached.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	ref := r.ref(name)
	key := manifest.Key{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if version(cm.ResourceVersion) < r.api.newest(key) {
		return r.readLive(ctx, ref, key)
	}
	return cm.Data, err == nil, nil
}

func (r records) readLive(ctx context.Context, ref apply.Ref, key manifest.Key) (map[string]string, bool, error) {
	live, err := r.api.Get(ctx, ref)
	if apierrors.IsNotFound(err) {
		r.api.forget(key) // another client has deleted it
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read ConfigMap %s: %w", ref.Name, err)
	}
	data, _, err := unstructured.NestedStringMap(live.Object, "data")
	if err != nil {
		return nil, false, fmt.Errorf("read ConfigMap %s: %w", ref.Name, err)
	}
	return data, true, nil
}

// save writes the record.
func (r records) save(ctx context.Context, record applied.Record) error {
	return r.write(ctx, applied.ConfigMapName, record.Encode())
}

// publish writes the facts if they differ.
func (r records) publish(ctx context.Context, f facts.Cluster) error {
	data, err := f.Publish()
	if err != nil {
		return err
	}
	if existing, _, err := r.read(ctx, facts.ConfigMapName); err != nil || maps.Equal(existing, data) {
		return err
	}
	return r.write(ctx, facts.ConfigMapName, data)
}

// appendHistory appends a revision to the history.
func (r records) appendHistory(ctx context.Context, history applied.History, revision applied.Revision) error {
	data, err := history.Append(revision).Encode()
	if err != nil {
		return err
	}
	return r.write(ctx, applied.HistoryConfigMapName, data)
}

func (r records) write(ctx context.Context, name string, data map[string]string) error {
	content := map[string]any{}
	for k, v := range data {
		content[k] = v
	}
	cm := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": content}}
	cm.SetNamespace(r.namespace)
	cm.SetName(name)
	if _, err := r.api.Apply(ctx, cm); err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", name, err)
	}
	return nil
}

func (r records) ref(name string) apply.Ref {
	return apply.Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), NamespacedName: types.NamespacedName{Namespace: r.namespace, Name: name}}
}
