package preview

import (
	"context"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// mostConflicts is the maximum number of conflicts that a note names.
const mostConflicts = 5

// conflicts returns the conflicts between the applied network and a desired one of another type, as notes: a change of the type is refused,
// and a forced one runs both networks until the last node has been migrated. It returns none if the type does not change, or if the desired
// network is refused for other reasons as well.
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
