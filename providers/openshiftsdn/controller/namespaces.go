package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/vnid"
)

// namespaces is the controller that creates the NetNamespace of each namespace.
type namespaces struct {
	*term
	// stale is true if the objects must be read again: at the start, and after a write with an unknown result.
	stale  bool
	held   map[string]vnid.Held
	cursor uint32
	record vnid.Record
}

func newNamespaces(t *term) *namespaces { return &namespaces{term: t, stale: true} }

// reconcile compares NetNamespaces with Namespaces, and writes the differences.
func (n *namespaces) reconcile(ctx context.Context) error {
	if n.stale {
		if err := n.netNamespaces.refresh(ctx, n.client, &sdnv1.NetNamespaceList{}); err != nil {
			return err
		}
	}
	all := n.netNamespaces.list()
	plan := vnid.New(vnid.Cluster{
		Mode: n.Network.Mode, Reserved: n.Network.ReservedVNIDs, Namespaces: n.namespaces.list(), NetNamespaces: all,
		Held: n.held, Cursor: n.cursor, Record: n.record, Now: n.Now(),
	})
	var problems []problem
	for _, p := range plan.Problems {
		problems = append(problems, problem(p))
	}
	n.report(namespaceLoop, problems)
	remove, err := n.confirmed(ctx, plan.Delete)
	if err != nil {
		return err
	}
	// The plan may be written even if the response is lost: the next plan does not reuse the VNIDs of this one.
	n.held, n.cursor, n.record = plan.Held, plan.Cursor, plan.Record
	err = n.writer.all(ctx, changes(n.writer, n.netNamespaces, plan.Create, plan.Update, remove))
	n.stale = err != nil
	if !plan.Empty() {
		n.triggers[namespaceLoop].Fire()
	}
	return err
}

// confirmed returns the NetNamespaces whose Namespace does not exist or has another UID according to the API server. A lagging watch must not cost a namespace
// its VNID.
func (n *namespaces) confirmed(ctx context.Context, all []*sdnv1.NetNamespace) ([]*sdnv1.NetNamespace, error) {
	var out []*sdnv1.NetNamespace
	for _, o := range all {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := n.client.Get(ctx, client.ObjectKey{Name: o.Name}, namespace)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read namespace %s: %w", o.Name, err)
		}
		if apierrors.IsNotFound(err) || string(namespace.UID) != o.Annotations[vnid.NamespaceUIDAnnotation] {
			out = append(out, o)
		}
	}
	return out, nil
}
