package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// Prefixes of the keys of access rules that do not belong to policies.
const (
	isolationKey = "isolation "
	nodeKey      = "node "
	multicastKey = "multicast "
	// NoMulticastKey is the key prefix of the access rules that drop the multicast of namespaces without multicast.
	NoMulticastKey = "no-multicast"
	// HairpinKey is the key of the access rule that allows a pod to connect to itself through a Service.
	HairpinKey = "hairpin"
)

// RuleKey is the key prefix of the access rules of a NetworkPolicy rule. Rules with named ports have several, whose keys continue after a space.
func RuleKey(policy netpolicy.ID, direction string, index int) string {
	return fmt.Sprintf("%s %s %d", policy, direction, index)
}

// IsolationKey returns the key of the isolation of a namespace's pods in one direction.
func IsolationKey(namespace, direction string) string {
	return isolationKey + namespace + " " + direction
}

// MulticastKey returns the key prefix of the access rules for the multicast of a namespace.
func MulticastKey(namespace string) string { return multicastKey + namespace }

// NodeKey returns the key of the access rule that allows a node to reach its own pods.
func NodeKey(node string) string { return nodeKey + node }

// Explain describes the access rule with a key as a clause.
func Explain(key string) string {
	parts := strings.Fields(key)
	switch {
	case key == HairpinKey:
		return "a pod reaches itself through a Service"
	case strings.HasPrefix(key, NoMulticastKey+" "):
		return "the namespace has no multicast: it lacks the annotation " + Multicast
	case strings.HasPrefix(key, multicastKey) && len(parts) == 3:
		return "the pods of namespace " + parts[1] + " may send multicast to one another"
	case strings.HasPrefix(key, nodeKey) && len(parts) == 2:
		return "node " + parts[1] + " reaches its own pods"
	case strings.HasPrefix(key, isolationKey) && len(parts) == 4 && parts[3] == "drop":
		return fmt.Sprintf("no %s rule of a NetworkPolicy that isolates the pod in namespace %s allows it", parts[2], parts[1])
	case strings.HasPrefix(key, isolationKey) && len(parts) == 4:
		return "ARP and neighbour discovery pass under any NetworkPolicy"
	}
	if len(parts) >= 3 && (parts[1] == netpolicy.Ingress || parts[1] == netpolicy.Egress) {
		namespace, name, _ := strings.Cut(parts[0], "/")
		if index, err := strconv.Atoi(parts[2]); err == nil {
			return netpolicy.RuleName(netpolicy.ID{Namespace: namespace, Name: name}, parts[1], index) + ", allows it"
		}
	}
	return "access rule " + strconv.Quote(key)
}
