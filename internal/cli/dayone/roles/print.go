package roles

import (
	"fmt"
	"io"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Print writes problems, one per line, and returns an exit.Code if one of them is an error.
func Print(w io.Writer, problems nmstate.Problems) error {
	for _, p := range problems.Sorted() {
		if _, err := fmt.Fprintln(w, p); err != nil {
			return err
		}
	}
	if problems.HasErrors() {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}
