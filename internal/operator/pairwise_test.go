package operator

import (
	"slices"
	"testing"
)

// levels has the number of levels of each optional kind.
func levels() []int {
	var all []int
	for _, kind := range optional {
		if kind.bootstrapped == "" {
			all = append(all, withObjects)
		} else {
			all = append(all, withObjects+1)
		}
	}
	return all
}

// pair is a level of one factor with a level of another.
type pair struct{ a, levelA, b, levelB int }

// pairwise returns rows in which each two factors have every combination of their levels, beginning with nothing and
// with everything. Each further row is made for a pair that is missing, and gets the levels that cover most others.
func pairwise(levels []int) [][]int {
	nothing, everything := make([]int, len(levels)), make([]int, len(levels))
	for i, n := range levels {
		everything[i] = n - 1
	}
	rows := [][]int{nothing, everything}
	missing := pairsOf(levels)
	for _, row := range rows {
		missing = slices.DeleteFunc(missing, func(p pair) bool { return p.in(row) })
	}
	for len(missing) > 0 {
		row := rowFor(missing, levels)
		rows = append(rows, row)
		missing = slices.DeleteFunc(missing, func(p pair) bool { return p.in(row) })
	}
	return rows
}

func (p pair) in(row []int) bool { return row[p.a] == p.levelA && row[p.b] == p.levelB }

// pairsOf returns all pairs.
func pairsOf(levels []int) (all []pair) {
	for a := range levels {
		for b := a + 1; b < len(levels); b++ {
			for la := range levels[a] {
				for lb := range levels[b] {
					all = append(all, pair{a, la, b, lb})
				}
			}
		}
	}
	return all
}

// rowFor returns a row with the first of the missing pairs.
func rowFor(missing []pair, levels []int) []int {
	const unset = -1
	row := slices.Repeat([]int{unset}, len(levels))
	row[missing[0].a], row[missing[0].b] = missing[0].levelA, missing[0].levelB
	for factor := range levels {
		if row[factor] != unset {
			continue
		}
		best, most := 0, -1
		for level := range levels[factor] {
			row[factor] = level
			gain := 0
			for _, p := range missing {
				if (p.a == factor || p.b == factor) && p.in(row) {
					gain++
				}
			}
			if gain > most {
				best, most = level, gain
			}
		}
		row[factor] = best
	}
	return row
}

// TestPairsAreComplete: a mistake in pairwise would be tests that are missing.
func TestPairsAreComplete(t *testing.T) {
	all := levels()
	rows := pairwise(all)
	for a := range all {
		for b := a + 1; b < len(all); b++ {
			for la := range all[a] {
				for lb := range all[b] {
					if !slices.ContainsFunc(rows, func(r []int) bool { return r[a] == la && r[b] == lb }) {
						t.Errorf("no row has %s=%d with %s=%d", optional[a].name, la, optional[b].name, lb)
					}
				}
			}
		}
	}
	if len(rows) > 30 {
		t.Errorf("%d rows are more than needed", len(rows))
	}
}
