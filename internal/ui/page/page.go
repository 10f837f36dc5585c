// Package page makes the documents behind the pages of cno ui: one value a page, which is also what a program reads as JSON. The values
// are those of the commands of cno (status, history, plan, connectivity test); this package adds none of its own judgement.
//
// A page reads through the interface of a client, which is a cluster that is watched or an archive of cno doctor.
package page

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/cli/doctor"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// ErrUnknown is wrapped by the error of a page about an object that does not exist.
var ErrUnknown = errors.New("not found")

// Source is what pages are made of.
type Source struct {
	// Objects has the objects of the operator, its operands, and the nodes. Lists that it returns are not changed.
	Objects client.Reader
	// All reads objects of every namespace that Objects does not have, such as pods of users. It is nil for an archive, which has none.
	All client.Reader
	// PodsOf returns the pods on a node. It is nil for an archive.
	PodsOf func(ctx context.Context, node string) ([]corev1.Pod, error)
	// Tracer returns the network of a type as one that explains what becomes of packets; it may be nil, and may return nil.
	Tracer func(operatorv1.NetworkType) provider.Tracer
	// Namespace is the operator's.
	Namespace string
	// Now is the clock: that of the API server, or the time at which an archive was written.
	Now func() time.Time
	// Report is that of the archive; nil for a cluster.
	Report *doctor.Report
	// Missing are sentences about what could not be read.
	Missing []string
}

// list reads a list of a kind that need not be served.
func (s Source) list(ctx context.Context, list client.ObjectList) error {
	if err := s.Objects.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	return nil
}
