package status

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Named is how many nodes a finding names; the others are counted.
const Named = 5

// Sentence joins sentences about nodes, of which it names a few and counts the others, with a way out, which may be empty.
func Sentence(sentences []string, wayOut string) string {
	out := phrase.Clauses(sentences, Named)
	if wayOut != "" {
		out += ". " + strings.ToUpper(wayOut[:1]) + wayOut[1:]
	}
	return out
}
