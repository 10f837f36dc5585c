package addresspool

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
)

// large answers the lists of a cluster with 30,000 pods on 100 nodes, each of which has an address of one of 30 ranges. One pod in a hundred
// was deleted. It is the API server without its time.
type large struct {
	client.Client
	pools, reservations, pods []runtime.Object
}

const (
	largePods, largeNodes, largePools = 30000, 100, 30
	largeGone                         = 100
)

func unstructuredOf(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	return u
}

func newLarge() *large {
	l := &large{}
	perPool := largePods / largePools
	for p := range largePools {
		network := netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/16", p))
		r, allocations := whereabouts.Usable(network), map[string]any{}
		for i := range perPool {
			n := p*perPool + i
			o := map[string]any{"podref": "ns/p" + strconv.Itoa(n), "ifname": "net1", "podUID": "uid-" + strconv.Itoa(n), "node": "node" + strconv.Itoa(n%largeNodes)}
			entry := map[string]any{"id": "sandbox"}
			reserved := map[string]any{"containerid": "sandbox"}
			for k, v := range o {
				entry[k], reserved[k] = v, v
			}
			allocations[strconv.Itoa(i+1)] = entry
			address, _ := r.Address(strconv.Itoa(i + 1))
			u := unstructuredOf(store.KindReservation, whereabouts.ReservationName("", address))
			u.Object["spec"] = reserved
			l.reservations = append(l.reservations, u)
			if n%largeGone != 0 {
				l.pods = append(l.pods, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p" + strconv.Itoa(n), UID: types.UID("uid-" + strconv.Itoa(n))}})
			}
		}
		u := unstructuredOf(store.KindPool, whereabouts.Pool{Network: network}.Name())
		u.Object["spec"] = map[string]any{"range": network.String(), "allocations": allocations}
		l.pools = append(l.pools, u)
	}
	return l
}

// List returns a page.
func (l *large) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	var all []runtime.Object
	switch list.GetObjectKind().GroupVersionKind().Kind {
	case "IPPoolList":
		all = l.pools
	case "OverlappingRangeIPReservationList":
		all = l.reservations
	case "PodList":
		if o.FieldSelector == nil {
			all = l.pods
		}
	}
	start, _ := strconv.Atoi(o.Continue)
	end := min(len(all), start+int(o.Limit))
	if end < len(all) {
		list.SetContinue(strconv.Itoa(end))
	}
	return meta.SetList(list, all[start:end])
}

func (l *large) nodes(context.Context) ([]*corev1.Node, error) {
	var nodes []*corev1.Node
	for i := range largeNodes {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node" + strconv.Itoa(i)}})
	}
	return nodes, nil
}

// BenchmarkReconcile is a reconcile of 30,000 pods on 100 nodes that finds what may be released.
func BenchmarkReconcile(b *testing.B) {
	l := newLarge()
	c := &Controller{
		client: l, Namespace: "openshift-multus", Nodes: l.nodes, Enabled: func(context.Context) (bool, error) { return true, nil },
		Metrics: NewMetrics(prometheus.NewRegistry()), Events: events.NewFakeRecorder(1), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Reconcile(b.Context(), reconcile.Request{}); err != nil {
			b.Fatal(err)
		}
	}
	// The address and the reservation of each.
	if want := 2 * largePods / largeGone; len(c.since) != want {
		b.Errorf("%d candidates, want %d", len(c.since), want)
	}
}
