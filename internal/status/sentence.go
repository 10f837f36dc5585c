package status

import (
	"fmt"
	"slices"
	"strings"
)

// Named is how many nodes a finding names; the others are counted.
const Named = 5

// Sentence joins sentences about nodes, of which it names a few and counts the others, with a way out, which may be empty.
func Sentence(sentences []string, wayOut string) string {
	if more := len(sentences) - Named; more > 0 {
		sentences = append(slices.Clone(sentences[:Named]), fmt.Sprintf("and %d more", more))
	}
	out := strings.Join(sentences, "; ")
	if wayOut != "" {
		out += ". " + strings.ToUpper(wayOut[:1]) + wayOut[1:]
	}
	return out
}
