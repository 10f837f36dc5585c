package signer

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// holdersName and holdersKey are where it is recorded, in the operator's namespace, which node has had an identity first: JSON from the names
	// of nodes to their identities, compressed.
	holdersName, holdersKey = "signer-identities", "identities.json.gz"
	// collect is how long changes of nodes are collected before they are recorded.
	collect = 10 * time.Second
	// disputed is in place of a node where it is not known which had an identity first.
	disputed = ""
)

// holders are the nodes that had identities first, by identity. An identity that no node claims is not in it.
type holders map[string]string

// settle returns who holds each identity now. Who had it before keeps it while it claims it. What is new belongs to the node that alone
// claims it. An identity whose holder no longer claims it while another node does is disputed, until none claims it: that other node may
// have claimed it all the time.
func settle(before holders, claims map[string][]string) holders {
	after := make(holders, len(claims))
	for identity, nodes := range claims {
		holder, known := before[identity]
		switch {
		case known && (holder == disputed || slices.Contains(nodes, holder)):
			after[identity] = holder
		case !known && len(nodes) == 1:
			after[identity] = nodes[0]
		default:
			after[identity] = disputed
		}
	}
	return after
}

func (h holders) encode() ([]byte, error) {
	byNode := map[string][]string{}
	for identity, node := range h {
		byNode[node] = append(byNode[node], identity)
	}
	for _, identities := range byNode {
		slices.Sort(identities)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := cmp.Or(json.NewEncoder(w).Encode(byNode), w.Close()); err != nil {
		return nil, fmt.Errorf("encode identities of nodes: %w", err)
	}
	return out.Bytes(), nil
}

func decodeHolders(data []byte) (holders, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode identities of nodes: %w", err)
	}
	byNode := map[string][]string{}
	if err := json.NewDecoder(r).Decode(&byNode); err != nil {
		return nil, fmt.Errorf("decode identities of nodes: %w", err)
	}
	h := holders{}
	for node, identities := range byNode {
		for _, identity := range identities {
			h[identity] = node
		}
	}
	return h, nil
}

// record is what is known of holders. Nothing is recorded before the first request of a node.
type record struct {
	wake trigger.Trigger

	mu           sync.Mutex
	loaded, used bool
	holders      holders
}

// load reads the record once. One that cannot be decoded counts as empty: contested identities are then no node's.
func (c *Controller) load(ctx context.Context) error {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	if c.record.loaded {
		return nil
	}
	var cm corev1.ConfigMap
	err := c.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: holdersName}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read identities of nodes: %w", err)
	}
	c.record.loaded, c.record.used, c.record.holders = true, err == nil, holders{}
	if err != nil {
		return nil
	}
	known, err := decodeHolders(cm.BinaryData[holdersKey])
	if err != nil {
		c.Log.Warn("the record of the nodes' identities cannot be read and is written again", "configmap", holdersName, "error", err)
		return nil
	}
	c.record.holders = known
	return nil
}

// unrecorded reports whether there is no record yet, by the cache: before the first request, the record is not read for every start. If the
// cache is late, the next change of a node is recorded.
func (c *Controller) unrecorded(ctx context.Context) (bool, error) {
	c.record.mu.Lock()
	known := c.record.loaded
	c.record.mu.Unlock()
	if known {
		return false, nil
	}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: holdersName}, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("look for the record of the nodes' identities: %w", err)
	}
	return err != nil, nil
}

// use begins to record, when the first request comes.
func (r *record) use() {
	r.mu.Lock()
	first := !r.used
	r.used = true
	r.mu.Unlock()
	if first {
		r.wake.Fire()
	}
}

// holder returns the node that had an identity first; none if that is not known.
func (r *record) holder(identity string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holders[identity]
}

// keep records who holds what, from the cached nodes.
func (c *Controller) keep(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if none, err := c.unrecorded(ctx); err != nil || none {
		return reconcile.Result{}, err
	}
	if err := c.load(ctx); err != nil {
		return reconcile.Result{}, err
	}
	c.record.mu.Lock()
	used, before := c.record.used, c.record.holders
	c.record.mu.Unlock()
	if !used {
		return reconcile.Result{}, nil
	}
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list nodes: %w", err)
	}
	claims := map[string][]string{}
	for i := range nodes.Items {
		for _, identity := range identityStrings(&nodes.Items[i]) {
			if all := claims[identity]; !slices.Contains(all, nodes.Items[i].Name) {
				claims[identity] = append(all, nodes.Items[i].Name)
			}
		}
	}
	after := settle(before, claims)
	if maps.Equal(before, after) {
		return reconcile.Result{}, nil
	}
	data, err := after.encode()
	if err != nil {
		return reconcile.Result{}, err
	}
	cm := corev1ac.ConfigMap(holdersName, c.Namespace).WithBinaryData(map[string][]byte{holdersKey: data})
	if err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
		return reconcile.Result{}, fmt.Errorf("record identities of nodes: %w", err)
	}
	c.record.mu.Lock()
	c.record.holders = after
	c.record.mu.Unlock()
	return reconcile.Result{}, nil
}

// otherIdentity lets changes of nodes through that change an identity.
func otherIdentity() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, also := e.ObjectNew.(*corev1.Node)
		return !ok || !also || !slices.Equal(identityStrings(before), identityStrings(after))
	}}
}
