package page

import (
	"context"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/cli/history"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// History are the revisions of the network, the newest first.
type History struct {
	Revisions []Revision `json:"revisions"`
}

// Revision is an entry of cno history with texts for the page.
type Revision struct {
	history.Entry
	// Result is the outcome of the rollout with remarks; Changed are the names of changes from the previous revision.
	Result  string   `json:"result"`
	Changed []string `json:"changed"`
	// YAML is the whole specification.
	YAML string `json:"yaml"`
}

// History returns the page.
func (s Source) History(ctx context.Context) (History, error) {
	page := History{Revisions: []Revision{}}
	entries, err := history.Of(ctx, preview.Cluster{Client: s.Objects, Namespace: s.Namespace})
	if err != nil {
		return page, err
	}
	for _, e := range entries {
		text, err := yaml.JSONToYAML(e.Spec)
		if err != nil {
			return page, fmt.Errorf("read revision %d: %w", e.Number, err)
		}
		page.Revisions = append(page.Revisions, Revision{Entry: e, Result: e.OutcomeText(), Changed: append([]string{}, e.ChangedNames()...), YAML: string(text)})
	}
	return page, nil
}
