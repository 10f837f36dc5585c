package offline

import (
	"fmt"
	"io"
	"strings"
)

// Write prints problems for a person, a line each; "valid" if there is none.
func Write(w io.Writer, problems []Problem) error {
	if len(problems) == 0 {
		_, err := fmt.Fprintln(w, "valid")
		return err
	}
	for _, p := range problems {
		parts := []string{p.File}
		if p.Field != "" {
			parts = append(parts, p.Field)
		}
		message := p.Message
		if p.Value != "" && !strings.Contains(message, p.Value) {
			message = fmt.Sprintf("%q %s", p.Value, message)
		}
		if _, err := fmt.Fprintf(w, "%s: %s (%s)\n", strings.Join(parts, ": "), message, p.Rule); err != nil {
			return err
		}
	}
	return nil
}
