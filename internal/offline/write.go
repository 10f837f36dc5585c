package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write prints problems as text, one per line; "valid" if there is none.
func Write(w io.Writer, problems []Problem) error {
	if len(problems) == 0 {
		_, err := fmt.Fprintln(w, "valid")
		return err
	}
	return writeLines(w, "", problems)
}

// WriteAdvice prints advice as text, one per line.
func WriteAdvice(w io.Writer, advice []Problem) error { return writeLines(w, "warning: ", advice) }

func writeLines(w io.Writer, head string, problems []Problem) error {
	for _, p := range problems {
		parts := []string{p.File}
		if p.Field != "" {
			parts = append(parts, p.Field)
		}
		message := p.Message
		if shown := show(p.Value); shown != "" && !strings.Contains(message, p.Value) && !strings.Contains(message, shown) {
			message = shown + " " + message
		}
		if _, err := fmt.Fprintf(w, "%s%s: %s (%s)\n", head, strings.Join(parts, ": "), message, p.Rule); err != nil {
			return err
		}
	}
	return nil
}

// show formats a value: lists and mappings as JSON, and all others in quotation marks.
func show(value string) string {
	if value == "" || strings.ContainsAny(value[:1], "[{") && json.Valid([]byte(value)) {
		return value
	}
	return strconv.Quote(value)
}
