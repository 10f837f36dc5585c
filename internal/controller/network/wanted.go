package network

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// reader is the cache that providers read.
type reader struct {
	client.Client
	live client.Reader
}

// Direct returns a reader of the API server.
func (r reader) Direct() client.Reader { return r.live }

// wanted is the user's specification, or the applied one if it is refused.
type wanted struct {
	in     pipeline.Input
	choice pipeline.Choice
	// invalid is the error if nothing can be rendered: the specification is refused, and there is no applied one.
	invalid error
}

// want validates, fills and checks the specification.
func (c *Controller) want(ctx context.Context, g *gathered) wanted {
	record := g.memory.record
	w := wanted{in: pipeline.Input{
		Desired: &g.network.Spec, Applied: record.Baseline(), Recorded: Recorded(record, g.memory.history), Revision: record.BaselineNumber(),
		Acknowledged: g.network.Annotations[pipeline.AcknowledgeAnnotation], Cluster: g.cluster, Reader: reader{c.Client, c.Live},
	}}
	w.choice, w.invalid = c.Pipeline.Choose(ctx, w.in)
	return w
}
