package status

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Named is the maximum number of nodes that a finding names; the others are counted.
const Named = 5

// Sentence joins at most Named sentences about nodes, the number of the others, and a way out unless that is empty.
func Sentence(sentences []string, wayOut string) string {
	out := phrase.Clauses(sentences, Named)
	if wayOut != "" {
		out += ". " + strings.ToUpper(wayOut[:1]) + wayOut[1:]
	}
	return out
}
