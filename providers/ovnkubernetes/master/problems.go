package master

import (
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// maxNamed is the maximum number of items in a message.
const maxNamed = 3

func withoutBlocks(nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	return fmt.Errorf("nodes without a block, as all blocks of the cluster network are in use: %s; add a cluster network, or remove nodes", phrase.Names(nodes, maxNamed))
}

func policyProblems(all []netpolicy.Problem) error {
	if len(all) == 0 {
		return nil
	}
	var texts []string
	for _, p := range all {
		texts = append(texts, fmt.Sprintf("%s: %s: %s", p.Policy, p.Field, p.Detail))
	}
	return errors.New("parts of NetworkPolicies match nothing: " + phrase.Clauses(texts, maxNamed))
}
