package ovntest

import (
	"slices"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
)

// Sentences returns findings as sorted sentences; never nil.
func Sentences(all []finding.Finding) []string {
	out := []string{}
	for _, f := range all {
		out = append(out, f.String())
	}
	slices.Sort(out)
	return out
}
