package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result is that of one benchmark: a figure for each of its units.
type result struct {
	directory, name string
	// network is the network that a benchmark of the lab ran on; empty for others.
	network string
	// skipped is the reason why the benchmark did not run on that network; it then has no figures.
	skipped string
	// units are in the order in which they were reported.
	units   []string
	figures map[string]float64
}

// processors is what go test appends to names.
var processors = regexp.MustCompile(`-\d+$`)

// The prefixes of the lines in which benchmarks of the lab report their network, and each benchmark that it does not support.
const (
	networkPrefix = "network: "
	skippedPrefix = "skipped: "
)

// reader parses the output of the benchmarks of one directory.
type reader struct {
	directory, network string
}

// read reads a line; ok is false if it is not a result.
func (r *reader) read(line string) (_ result, ok bool) {
	if network, ok := strings.CutPrefix(line, networkPrefix); ok {
		r.network = network
		return result{}, false
	}
	if rest, ok := strings.CutPrefix(line, skippedPrefix); ok {
		name, reason, _ := strings.Cut(rest, ": ")
		return result{directory: r.directory, name: strings.TrimPrefix(name, "Benchmark"), network: r.network, skipped: reason}, true
	}
	parsed, ok := parse(r.directory, line)
	parsed.network = r.network
	return parsed, ok
}

// networksOf returns the networks of results in order; the results without a network come first.
func networksOf(all []result) []string {
	var networks []string
	for _, r := range all {
		networks = append(networks, r.network)
	}
	slices.Sort(networks)
	return slices.Compact(networks)
}

// ofNetwork returns the results of one network.
func ofNetwork(network string, all []result) []result {
	var out []result
	for _, r := range all {
		if r.network == network {
			out = append(out, r)
		}
	}
	return out
}

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
