package connectivity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
)

// longestLabel is how long the first label of a node's name may be in the name of a check, of which there are two. It is
// that of a DNS label.
const longestLabel = 63

// Names gives nodes short names, for the names of checks: the first label of the node's name, or the address with dashes if
// it is one. Nodes that would have the same one, and those whose first label is too long, get a hash of the full name with it, after a dot,
// which no other short name has. So names depend on which nodes there are, and on nothing else.
type Names map[string]string

// NewNames returns the short names of nodes. A name that is given twice is one node.
func NewNames(nodes []string) Names {
	// The node that has a first label, or nothing if there are several.
	only := make(map[string]string, len(nodes))
	for _, n := range nodes {
		if other, taken := only[first(n)]; taken && other != n {
			only[first(n)] = ""
		} else if !taken {
			only[first(n)] = n
		}
	}
	names := make(Names, len(nodes))
	for _, n := range nodes {
		short := first(n)
		if only[short] != n || len(short) > longestLabel {
			short = hashed(n)
		}
		names[n] = short
	}
	return names
}

// Of returns the short name of a node. One that was not among those the names were made for gets its full name's hash, too.
func (n Names) Of(node string) string {
	if short, known := n[node]; known {
		return short
	}
	return hashed(node)
}

// Check returns the name of the check from a source's node to a target.
func (n Names) Check(sourceNode, target string) string {
	return SourceName + "-" + n.Of(sourceNode) + "-to-" + target
}

// IsOurs reports whether a check with a name is one that this package names.
func IsOurs(check string) bool { return strings.HasPrefix(check, SourceName+"-") }

func first(node string) string {
	// Hardly any node's name looks like an address, and an error for each of thousands is not free.
	if strings.Contains(node, ":") || strings.Trim(node, ".0123456789") == "" {
		if a, err := netip.ParseAddr(node); err == nil {
			return Dashes(a.WithZone("").String())
		}
	}
	label, _, _ := strings.Cut(node, ".")
	return label
}

// Dashes writes an address so that it can be part of a name, at its end, too.
func Dashes(address string) string {
	return cmp.Or(strings.Trim(strings.NewReplacer(".", "-", ":", "-").Replace(address), "-"), "0")
}

func hashed(node string) string {
	short := first(node)
	sum := sha256.Sum256([]byte(node))
	return strings.TrimRight(short[:min(len(short), longestLabel)], "-") + "." + hex.EncodeToString(sum[:4])
}
