package connectivity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
)

// maxLabel is the maximum length of the first label of a node's name in the name of a check, that of a DNS label.
const maxLabel = 63

// Names maps nodes to short names for names of checks: the first label of the node's name, or its address with dashes. If that is ambiguous
// or too long, a dot and a hash of the full name are appended; no other short name has a dot. Names depend only on the set of nodes.
type Names map[string]string

// NewNames returns the short names of nodes. Duplicates are ignored.
func NewNames(nodes []string) Names {
	// The node with a first label; empty if there are several.
	only := make(map[string]string, len(nodes))
	for _, n := range nodes {
		if other, taken := only[firstLabel(n)]; taken && other != n {
			only[firstLabel(n)] = ""
		} else if !taken {
			only[firstLabel(n)] = n
		}
	}
	names := make(Names, len(nodes))
	for _, n := range nodes {
		short := firstLabel(n)
		if only[short] != n || len(short) > maxLabel {
			short = hashedName(n)
		}
		names[n] = short
	}
	return names
}

// Of returns the short name of a node. An unknown node gets a name with a hash.
func (n Names) Of(node string) string {
	if short, ok := n[node]; ok {
		return short
	}
	return hashedName(node)
}

// Check returns the name of the check from a source's node to a target.
func (n Names) Check(sourceNode, target string) string {
	return SourceName + "-" + n.Of(sourceNode) + "-to-" + target
}

// IsCheckName reports whether a name is one that this package gives to checks.
func IsCheckName(check string) bool { return strings.HasPrefix(check, SourceName+"-") }

func firstLabel(node string) string {
	// This avoids the cost of a parse error for each of thousands of nodes.
	if strings.Contains(node, ":") || strings.Trim(node, ".0123456789") == "" {
		if a, err := netip.ParseAddr(node); err == nil {
			return Dashes(a.WithZone("").String())
		}
	}
	label, _, _ := strings.Cut(node, ".")
	return label
}

// Dashes returns an address in a form that is valid in a name.
func Dashes(address string) string {
	return cmp.Or(strings.Trim(strings.NewReplacer(".", "-", ":", "-").Replace(address), "-"), "0")
}

func hashedName(node string) string {
	short := firstLabel(node)
	sum := sha256.Sum256([]byte(node))
	return strings.TrimRight(short[:min(len(short), maxLabel)], "-") + "." + hex.EncodeToString(sum[:4])
}
