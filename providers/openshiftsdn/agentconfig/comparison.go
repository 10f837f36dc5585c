package agentconfig

import (
	"encoding/json"
	"fmt"
)

// CompareCommand is the agent's subcommand that prints a Comparison. ComparePath is the HTTP path at which the agent serves it.
const (
	CompareCommand = "compare"
	ComparePath    = "/compare"
)

// Comparison has the differences between a node's state and the state that its agent desires.
type Comparison struct {
	Differences []Difference `json:"differences"`
	// Notes describe what could not be compared.
	Notes []string `json:"notes,omitempty"`
	// VNIDs are those in the flows of this node's pods, by namespace.
	VNIDs map[string]uint32 `json:"vnids,omitempty"`
}

// Difference is one difference.
type Difference struct {
	// What is a clause that names the place and the object: "1 flow is missing in table 80 of br0: NetworkPolicy shop/web".
	What string `json:"what"`
	// Cause is the probable cause. WayOut is the remedy.
	Cause  string `json:"cause"`
	WayOut string `json:"wayOut"`
	// Critical is true if traffic fails, or if traffic passes that must be dropped.
	Critical bool `json:"critical,omitempty"`
}

// DecodeComparison decodes the output of CompareCommand.
func DecodeComparison(text []byte) (Comparison, error) {
	var c Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read the comparison of the agent: %w", err)
	}
	return c, nil
}
