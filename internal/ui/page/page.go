// Package page creates the documents of the pages of cno ui: one value per page, which is also available as JSON. The values are those of
// the commands of cno (status, history, plan, connectivity test); this package makes no decisions of its own.
//
// A page reads with the interface client.Reader from a watched cluster or an archive of cno doctor.
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

// Source is the source of pages.
type Source struct {
	// Objects has the objects of the operator, its operands, and the nodes. Its lists must not be changed.
	Objects client.Reader
	// All reads objects of every namespace that Objects does not have, such as pods of users. It is nil for an archive, which has none.
	All client.Reader
	// Pods returns all pods, ordered by namespace and name; they are shared and must not be changed. It is nil for an archive.
	Pods func(ctx context.Context) ([]Pod, error)
	// PodsOf returns the pods on a node. It is nil for an archive.
	PodsOf func(ctx context.Context, node string) ([]corev1.Pod, error)
	// Tracer returns the Tracer of a network type; it may be nil, and may return nil.
	Tracer func(operatorv1.NetworkType) provider.Tracer
	// Agents are the DaemonSets of the agents of all networks.
	Agents []provider.Agent
	// Namespace is that of the operator.
	Namespace string
	// Now is the clock: that of the API server, or the time at which an archive was written.
	Now func() time.Time
	// Report is that of the archive; nil for a cluster.
	Report *doctor.Report
	// Draft is shown on the page Hosts; nil if there is none.
	Draft *Draft
	// Missing are sentences about data that could not be read.
	Missing []string
}

// list reads a list of a kind whose API may be unavailable.
func (s Source) list(ctx context.Context, list client.ObjectList) error {
	if err := s.Objects.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	return nil
}
