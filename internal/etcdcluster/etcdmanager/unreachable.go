package etcdmanager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/status"
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

// Unreachable reports that etcd does not answer. While its first member is being started, that is to be expected.
func (r *Run) Unreachable(err error) {
	r.Failed()
	for _, m := range r.Members.Members {
		if r.Settings.Managed != nil && m.Votes() && m.ID == "" {
			return
		}
	}
	r.Findings = append(r.Findings, r.Finding(status.Degraded, "EtcdUnreachable",
		fmt.Sprintf("%s at %s does not answer: %v; pods that run keep their network, nodes that join get none until it answers",
			r.cluster.Title(), strings.Join(r.votersOrExternal(), ", "), err)))
}
