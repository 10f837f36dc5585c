// Package suggest finds corrections of misspelled words.
//
// It is pure.
package suggest

import (
	"strings"
	"unicode/utf8"
)

// Closest returns the candidate with the smallest Distance to a word, ignoring case, and whether there is one within the
// limit and at most half the letters of the word, rounded up: v is no correction of foo. Of several equally close ones it returns the first.
func Closest(word string, candidates []string, limit int) (string, bool) {
	best, found := "", false
	limit = min(limit, (utf8.RuneCountInString(word)+1)/2)
	for _, c := range candidates {
		if d, ok := Distance(strings.ToLower(word), strings.ToLower(c), limit); ok {
			best, found = c, true
			limit = d - 1
		}
	}
	return best, found
}

// Distance returns the number of letters to insert, delete or replace to turn a into b (Levenshtein's distance),
// and whether that is within the limit. Beyond the limit the number has no meaning; long words that differ much
// are not compared completely.
func Distance(a, b string, limit int) (int, bool) {
	if limit < 0 || len(a) > 4*(len(b)+limit) || len(b) > 4*(len(a)+limit) {
		return 0, false
	}
	from, to := []rune(a), []rune(b)
	if abs(len(from)-len(to)) > limit {
		return 0, false
	}
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		least := nextRow(row, i+1, r, to)
		if least > limit {
			return 0, false
		}
	}
	d := row[len(to)]
	return d, d <= limit
}

// nextRow updates the distances of the first i-1 letters to those of the first i, the last of which is r, and returns the
// smallest one.
func nextRow(row []int, i int, r rune, to []rune) int {
	diagonal, least := row[0], i
	row[0] = i
	for j, t := range to {
		cost := 1
		if r == t {
			cost = 0
		}
		d := min(row[j+1]+1, row[j]+1, diagonal+cost)
		diagonal, row[j+1] = row[j+1], d
		least = min(least, d)
	}
	return least
}

func abs(n int) int { return max(n, -n) }
