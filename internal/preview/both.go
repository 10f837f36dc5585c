package preview

import (
	"context"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// mostConflicts is how many conflicts of two networks a note names.
const mostConflicts = 5

// conflicts returns what stands between the applied network and a desired one of another type, as notes: a change of the type is refused, and
// a forced one has both networks in the cluster until the last node has changed. It returns none for a change within one network, and where
// the desired one is refused for other reasons, too.
func conflicts(ctx context.Context, p pipeline.Pipeline, in pipeline.Input) []string {
	pair, err := p.ChoosePair(ctx, in)
	if err != nil {
		return nil // the preview has the refusals already
	}
	both, err := pair.Render(ctx, in.Cluster)
	from, to := both.From.Spec.DefaultNetwork.Type, both.To.Spec.DefaultNetwork.Type
	var notes []string
	if err != nil {
		notes = append(notes, fmt.Sprintf("not everything of %s and %s could be compared: %v", from, to, err))
	}
	if len(both.Conflicts) == 0 {
		return notes
	}
	var sentences []string
	for _, c := range both.Conflicts {
		sentences = append(sentences, c.String())
	}
	return append(notes, fmt.Sprintf("a forced change of the type runs %s and %s side by side until the first is removed, and they conflict: %s", from, to, phrase.Clauses(sentences, mostConflicts)))
}
