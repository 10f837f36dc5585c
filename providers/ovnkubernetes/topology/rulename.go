package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// The words with which keys of access rules begin, beside those of policies.
const (
	isolationKey = "isolation "
	nodeKey      = "node "
	multicastKey = "multicast "
	// NoMulticastKey begins the keys of the access rules that drop the multicast of all other namespaces.
	NoMulticastKey = "no-multicast"
	// HairpinKey is the key of the access rule by which a pod reaches itself through a Service.
	HairpinKey = "hairpin"
)

// RuleKey is the beginning of the keys of the access rules that stand for a rule of a NetworkPolicy. Rules with named ports have several, whose
// keys go on after a space.
func RuleKey(policy netpolicy.ID, direction string, index int) string {
	return fmt.Sprintf("%s %s %d", policy, direction, index)
}

// IsolationKey is the key of the isolation of the pods of a namespace in one direction.
func IsolationKey(namespace, direction string) string {
	return isolationKey + namespace + " " + direction
}

// MulticastKey begins the keys of the access rules for the multicast of a namespace.
func MulticastKey(namespace string) string { return multicastKey + namespace }

// NodeKey is the key of the access rule by which a node reaches its own pods.
func NodeKey(node string) string { return nodeKey + node }

// Explain says what an access rule with a key does, as a clause.
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
