package agentconfig

import (
	"encoding/json"
	"fmt"
)

// CompareCommand is the subcommand of the agent's program that prints a Comparison, ComparePath where the agent serves it.
const (
	CompareCommand = "compare"
	ComparePath    = "/compare"
)

// Comparison is how a node differs from what its agent desires.
type Comparison struct {
	Differences []Difference `json:"differences"`
	// VNIDs are those with which the flows of pods of this node are computed, by namespace.
	VNIDs map[string]uint32 `json:"vnids,omitempty"`
}

// Difference is one of them.
type Difference struct {
	// What is a clause that names the place and the object: "1 flow is missing in table 80 of br0: NetworkPolicy shop/web".
	What string `json:"what"`
	// Cause is why, as far as that is known, WayOut what to do.
	Cause  string `json:"cause"`
	WayOut string `json:"wayOut"`
	// Critical is true if traffic fails, or passes that must not.
	Critical bool `json:"critical,omitempty"`
}

// DecodeComparison reads what the subcommand prints.
func DecodeComparison(text []byte) (Comparison, error) {
	var c Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read the comparison of the agent: %w", err)
	}
	return c, nil
}
