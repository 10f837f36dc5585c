package preview

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// parallelReads is the number of concurrent requests, and nodePageSize the number of nodes per list request.
const (
	parallelReads = 16
	nodePageSize  = 500
)

// Cluster reads a cluster. All fields must be set.
type Cluster struct {
	Client client.Reader
	API    dynamic.Interface
	Mapper meta.RESTMapper
	// Namespace is the namespace of the operator.
	Namespace string
}

// Records are the records that the operator keeps of its own work.
type Records struct {
	Decision  applied.Decision
	Record    applied.Record
	History   applied.History
	Inventory plan.Inventory
	// Facts are the facts that the operator has published; nil before its first start.
	Facts *facts.Cluster
}

// Records reads the operator's records. A record that cannot be read is an error.
func (c Cluster) Records(ctx context.Context) (Records, error) {
	var r Records
	record, recorded, err := c.data(ctx, applied.ConfigMapName)
	if err != nil {
		return r, err
	}
	if data, exists, err := c.data(ctx, plan.InventoryName); err != nil {
		return r, err
	} else if exists {
		if r.Inventory, err = plan.DecodeInventory(data); err != nil {
			return r, err
		}
	}
	history, _, err := c.data(ctx, applied.HistoryConfigMapName)
	if err != nil {
		return r, err
	}
	if r.History, err = applied.DecodeHistory(history); err != nil {
		return r, err
	}
	if r.Decision, r.Record, err = applied.Decide(applied.Found{Record: recorded, Data: record, InventoryEmpty: len(r.Inventory) == 0, History: r.History}); err != nil {
		return r, err
	}
	if data, exists, err := c.data(ctx, facts.ConfigMapName); err != nil {
		return r, err
	} else if exists {
		known, err := facts.Published(data)
		if err != nil {
			return r, err
		}
		r.Facts = &known
	}
	return r, nil
}

func (c Cluster) data(ctx context.Context, name string) (map[string]string, bool, error) {
	var cm corev1.ConfigMap
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	return cm.Data, err == nil, nil
}

// State reads the state of the cluster that the operator would use. known are the facts for a cluster in which it has not run yet.
func (c Cluster) State(ctx context.Context, known facts.Cluster) (State, Records, error) {
	records, err := c.Records(ctx)
	if err != nil {
		return State{}, records, err
	}
	var notes []string
	if records.Facts != nil {
		mtu, assumed := known.HostMTU, known.HostMTUAssumed
		known = *records.Facts
		known.HostMTU, known.HostMTUAssumed = mtu, assumed // unknown until the nodes have been probed
	} else {
		notes = append(notes, "the operator has not run in this cluster yet: images and the address of the API server are placeholders")
	}
	if records.Decision == applied.Forced {
		notes = append(notes, "the record of what is applied was deleted: the change is forced, and not checked")
	}
	if records.Decision == applied.Recovered {
		notes = append(notes, "the record of what is applied is missing: the change is checked against the last revision in "+applied.HistoryConfigMapName)
	}
	mtu, _, err := c.data(ctx, hostmtu.ConfigMap)
	if err != nil {
		return State{}, records, err
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return State{}, records, err
	}
	migration, _, err := c.data(ctx, facts.MTUMigrationConfigMap)
	if err != nil {
		return State{}, records, err
	}
	known.MTUMigration = facts.DecodeMTUMigration(migration)
	if known.Services, err = network.ReadServices(ctx, c.Client); err != nil {
		return State{}, records, err
	}
	recorded := network.Recorded(records.Record, records.History)
	if recorded == nil {
		if known.Declared, err = network.ReadDeclared(ctx, c.Client, records.Decision, known.Services); err != nil {
			return State{}, records, err
		}
	}
	hostMTU := hostmtu.Settled(mtu)
	known.Interfaces = hostmtu.Interfaces(mtu)
	if hostMTU > 0 {
		known.HostMTUAssumed = false
	} else if hostMTU = known.HostMTU; known.HostMTUAssumed {
		notes = append(notes, fmt.Sprintf("the MTU of the nodes is not known yet: %d bytes are assumed; give --host-mtu for another", hostMTU))
	}
	return State{
		Input: pipeline.Input{
			Applied: records.Record.Baseline(), Recorded: recorded, Revision: records.Record.BaselineNumber(),
			Cluster: network.Facts(known, nodes, hostMTU), Reader: c.Client,
		},
		UsedUp: records.History.UsedUp(records.Record), Lookup: c.lookup, Inventory: records.Inventory, DryRun: c.dryRun, Admit: c.admit, Notes: notes,
		Serves: func(gk schema.GroupKind) bool { _, err := c.Mapper.RESTMapping(gk); return err == nil },
	}, records, nil
}

// Declared reads the addresses that a cluster declares in which nothing is applied yet; nil if Network.config determines them.
func (c Cluster) Declared(ctx context.Context) (*facts.Declared, error) {
	services, err := network.ReadServices(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	return network.ReadDeclared(ctx, c.Client, applied.Fresh, services)
}

func (c Cluster) nodes(ctx context.Context) ([]*corev1.Node, error) {
	var all []*corev1.Node
	for page := ""; ; {
		var list corev1.NodeList
		if err := c.Client.List(ctx, &list, client.Limit(nodePageSize), client.Continue(page)); err != nil {
			return nil, fmt.Errorf("list nodes: %w", err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		if page = list.Continue; page == "" {
			return all, nil
		}
	}
}

// resource returns the client for objects of a kind.
func (c Cluster) resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.API.Resource(mapping.Resource), nil
	}
	return c.API.Resource(mapping.Resource).Namespace(namespace), nil
}

// lookup reads objects.
func (c Cluster) lookup(ctx context.Context, refs []apply.Ref) (plan.Lookup, error) {
	live := map[manifest.Key]*unstructured.Unstructured{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for _, ref := range refs {
		group.Go(func() error {
			r, err := c.resource(ref.GroupVersionKind, ref.Namespace)
			if err != nil {
				return err
			}
			o, err := r.Get(ctx, ref.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s %s: %w", ref.Kind, ref.NamespacedName, err)
			}
			mu.Lock()
			defer mu.Unlock()
			live[manifest.KeyOf(o)] = o
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return func(k manifest.Key) (*unstructured.Unstructured, bool) { o, ok := live[k]; return o, ok }, nil
}

// dryRun returns the result of a server-side dry run of an action. For an object that is recreated, it returns the rendered
// object.
func (c Cluster) dryRun(ctx context.Context, a plan.Action) (*unstructured.Unstructured, error) {
	if a.Verb == plan.Recreate {
		return a.Wanted(), nil
	}
	r, err := c.resource(a.GVK(), a.Key.Namespace)
	if err != nil {
		return nil, err
	}
	return r.Apply(ctx, a.Key.Name, a.Wanted(), metav1.ApplyOptions{FieldManager: network.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
}
