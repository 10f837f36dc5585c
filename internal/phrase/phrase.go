// Package phrase formats lists for sentences in a uniform way.
package phrase

import (
	"fmt"
	"slices"
	"strings"
)

// Names joins the first names of a list and the number of the others: "a, b and 3 more". A list that is short enough is "a, b and c".
func Names(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + " " + More(more)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// Clauses joins the first clauses of a list and the number of the others: "a; b; and 3 more".
func Clauses(clauses []string, most int) string { return strings.Join(First(clauses, most), "; ") }

// First returns the first lines of a list, and one with the number of the others: "and 3 more". It does not change the list.
func First(lines []string, most int) []string {
	if more := len(lines) - most; more > 0 {
		return append(slices.Clone(lines[:most]), More(more))
	}
	return lines
}

// maxNote is the length in bytes that the API server allows for the note of an event.
const maxNote = 1024

// Note returns a text that can be the note of an event. A longer one ends with an ellipsis.
func Note(text string) string {
	const ellipsis = "..."
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len(ellipsis)], "") + ellipsis
}

// More formats the number of omitted entries: "and 3 more". It is for lists that are not texts or are printed line by line.
func More(count int) string { return fmt.Sprintf("and %d more", count) }
