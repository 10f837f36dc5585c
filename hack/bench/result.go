package main

import (
	"regexp"
	"strconv"
	"strings"
)

// result is that of one benchmark: a figure for each of its units.
type result struct {
	directory, name string
	// units are in the order in which they were reported.
	units   []string
	figures map[string]float64
}

// processors is what go test appends to names.
var processors = regexp.MustCompile(`-\d+$`)

// parse reads a line of go test -bench: the name, how often it ran, and pairs of a figure and its unit.
func parse(directory, line string) (result, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
		return result{}, false
	}
	if _, err := strconv.Atoi(fields[1]); err != nil {
		return result{}, false
	}
	r := result{directory: directory, name: processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), ""), figures: map[string]float64{}}
	for i := 2; i < len(fields); i += 2 {
		figure, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return result{}, false
		}
		r.units = append(r.units, fields[i+1])
		r.figures[fields[i+1]] = figure
	}
	return r, true
}
