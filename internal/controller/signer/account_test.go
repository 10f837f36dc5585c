package signer

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// TestAServiceAccountIsTheNodeOfItsPod has requests of agents whose account all nodes share: the API server reports on which node the pod of the token is.
func TestAServiceAccountIsTheNodeOfItsPod(t *testing.T) {
	const account = "system:serviceaccount:network:agent"
	policy := Nodes(account)
	for _, tc := range []struct {
		why, user string
		nodes     []string
		signed    bool
		contains  string
	}{
		{"the token of the node's own pod", account, []string{"master-0"}, true, ""},
		{"the token of another node's pod", account, []string{"worker-1"}, false, "requested CN \"master-0\" but requester is node \"worker-1\""},
		{"a token that is bound to no pod", account, nil, false, "it must have the token of a pod"},
		{"no server writes two nodes", account, []string{"master-0", "worker-1"}, false, "it must have the token of a pod"},
		{"a node that does not exist", account, []string{"worker-9"}, false, `has node "worker-9", which does not exist`},
		{"a name that no node can have", account, []string{"../master-0"}, false, "it must have the token of a pod"},
		{"another account", "system:serviceaccount:network:other", []string{"master-0"}, false, "is not system:ovn-node:<existing node>"},
		{"an account of that name in another namespace", "system:serviceaccount:tenant:agent", []string{"master-0"}, false, "is not system:ovn-node:<existing node>"},
	} {
		csr := good(t)
		csr.Spec.Username, csr.Spec.Groups = tc.user, []string{"system:serviceaccounts", "system:authenticated"}
		csr.Spec.Extra = map[string]certificatesv1.ExtraValue{extraNode: tc.nodes}
		node := Node{}
		if name, ok := policy.NodeOf(csr); ok && name == "master-0" {
			node = master()
		} else if ok && name == "worker-1" {
			node = Node{Name: "worker-1"}
		}
		d := Decide(csr, node, policy, now)
		if (d.Action == Sign) != tc.signed || !tc.signed && !strings.Contains(d.Message(), tc.contains) {
			t.Errorf("%s: %s: %s", tc.why, d.Action, d.Message())
		}
	}
}
