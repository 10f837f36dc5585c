// Package phrase puts lists into sentences, in the same form everywhere.
package phrase

import (
	"fmt"
	"slices"
	"strings"
)

// Names joins the first names of a list, and counts the others: "a, b and 3 more". All of a list that is short enough are "a, b and c".
func Names(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// Clauses joins the first clauses of a list, and counts the others: "a; b; and 3 more".
func Clauses(clauses []string, most int) string { return strings.Join(First(clauses, most), "; ") }

// First returns the first lines of a list, and one that counts the others: "and 3 more". It does not change the list.
func First(lines []string, most int) []string {
	if more := len(lines) - most; more > 0 {
		return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", more))
	}
	return lines
}
