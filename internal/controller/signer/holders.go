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
	// holdersName and holdersKey locate the record of the first holder of each identity, in the operator's namespace. The format is
	// compressed JSON from node names to identities.
	holdersName, holdersKey = "signer-identities", "identities.json.gz"
	// recordDelay is the time during which changes of nodes are batched before they are recorded.
	recordDelay = 10 * time.Second
	// disputed replaces the node if the first holder of an identity is unknown.
	disputed = ""
)

// holders maps identities to the nodes that had them first. An identity that no node claims is omitted.
type holders map[string]string

// assignHolders returns the holders for the current claims. A holder keeps an identity while it claims it. A new identity belongs to its
// only claimant. If the holder no longer claims an identity that another node claims, the identity is disputed until no node claims it,
// because the other node may have claimed it before.
func assignHolders(before holders, claims map[string][]string) holders {
	after := make(holders, len(claims))
	for identity, nodes := range claims {
		holder, existing := before[identity]
		switch {
		case existing && (holder == disputed || slices.Contains(nodes, holder)):
			after[identity] = holder
		case !existing && len(nodes) == 1:
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

// record is the in-memory state of the holders. Recording starts with the first request of a node.
type record struct {
	wake trigger.Trigger

	mu           sync.Mutex
	loaded, used bool
	holders      holders
}

// load reads the record once. An unreadable record counts as empty: contested identities then belong to no node.
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
	existing, err := decodeHolders(cm.BinaryData[holdersKey])
	if err != nil {
		c.Log.Warn("the record of the nodes' identities is unreadable and will be rewritten", "configmap", holdersName, "error", err)
		return nil
	}
	c.record.holders = existing
	return nil
}

// unrecorded reports whether the record does not exist, by the cache, so that it is not read at every start before the first request. With
// a stale cache, the next change of a node is recorded.
func (c *Controller) unrecorded(ctx context.Context) (bool, error) {
	c.record.mu.Lock()
	existing := c.record.loaded
	c.record.mu.Unlock()
	if existing {
		return false, nil
	}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: holdersName}, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read the record of the nodes' identities: %w", err)
	}
	return err != nil, nil
}

// enable starts recording with the first request.
func (r *record) enable() {
	r.mu.Lock()
	first := !r.used
	r.used = true
	r.mu.Unlock()
	if first {
		r.wake.Fire()
	}
}

// holder returns the node that had an identity first; empty if unknown.
func (r *record) holder(identity string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holders[identity]
}

// recordIdentities updates the record from the cached nodes.
func (c *Controller) recordIdentities(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
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
	after := assignHolders(before, claims)
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

// identityChanged passes updates of nodes that change an identity.
func identityChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !ok || !okAfter || !slices.Equal(identityStrings(before), identityStrings(after))
	}}
}
