package main

import (
	"fmt"
	"strings"
)

// table prints the figures outside of the lab, and then those of each network below its name and the note about it.
func table(all []result, notes map[string]string) string {
	var out strings.Builder
	for _, network := range networksOf(all) {
		if network != "" {
			fmt.Fprintf(&out, "\n### %s\n\n", network)
		}
		if note := notes[network]; note != "" {
			out.WriteString(note + "\n\n")
		}
		out.WriteString(section(ofNetwork(network, all)))
	}
	return out.String()
}

// section prints all figures that are compared, and below them the benchmarks without a comparison.
func section(all []result) string {
	byName := map[string]result{}
	for _, r := range all {
		byName[r.name] = r
	}
	var out strings.Builder
	out.WriteString("| what | measured | goal | compared with | times better |\n|---|---|---|---|---|\n")
	compared := map[string]bool{}
	for _, c := range comparisons() {
		if r, ran := byName[c.benchmark]; ran {
			compared[c.benchmark], compared[c.otherBenchmark] = true, true
			out.WriteString(c.row(r, byName))
		}
	}
	var others strings.Builder
	for _, r := range all {
		if !compared[r.name] {
			fmt.Fprintf(&others, "| %s `%s` | %s |\n", r.directory, r.name, r.everything())
		}
	}
	if others.Len() > 0 {
		out.WriteString("\n| benchmark | figures |\n|---|---|\n" + others.String())
	}
	return out.String()
}

// row returns one line of the table. It marks a missed goal.
func (c comparison) row(r result, byName map[string]result) string {
	if r.skipped != "" {
		return fmt.Sprintf("| %s | not measured: %s | | | |\n", c.what, r.skipped)
	}
	measured, ok := r.figures[c.unit]
	if !ok {
		return fmt.Sprintf("| %s | not reported | | | |\n", c.what)
	}
	other, beside := c.other, "-"
	if c.otherUnit != "" {
		from := r
		if c.otherBenchmark != "" {
			from = byName[c.otherBenchmark]
		}
		other = from.figures[c.otherUnit]
	}
	goal, limit := "-", c.goal
	switch {
	case c.times != 0:
		goal, limit = short(c.times)+" times", c.times*other
	case c.goal != none:
		goal = figure(c.goal, c.unit)
	}
	if goal != "-" && (measured > limit && !c.more || measured < limit && c.more) {
		goal += ", **missed**"
	}
	if other != 0 {
		beside = figure(other, c.unit) + ", " + c.whose
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", c.what, figure(measured, c.unit), goal, beside, c.ratio(measured, other))
}

// ratio returns the factor by which the figure is better than the one to compare with: less than 1 is worse.
func (c comparison) ratio(measured, other float64) string {
	if c.more {
		measured, other = other, measured
	}
	switch {
	case measured == 0 && other == 0 || other == 0 || c.other == 0 && c.otherUnit == "":
		return "-"
	case measured == 0:
		return "∞"
	}
	return short(other/measured) + " ×"
}

// figure formats a figure with its unit, and a time in the most readable unit.
func figure(f float64, unit string) string {
	millis := strings.HasSuffix(unit, "-ms")
	switch {
	case unit == "ns/op" && f >= 1e9, millis && f >= 10_000:
		if millis {
			f *= 1e6
		}
		return short(f/1e9) + " s"
	case unit == "ns/op":
		if f < 1e4 {
			return short(f/1e3) + " µs"
		}
		return short(f/1e6) + " ms"
	case millis:
		return short(f) + " ms"
	}
	switch {
	case strings.HasSuffix(unit, "MB"), strings.HasSuffix(unit, "MB-kept"):
		return short(f) + " MB"
	case strings.HasSuffix(unit, "-us"):
		return short(f) + " µs"
	case strings.HasSuffix(unit, "Gbit/s"):
		return short(f) + " Gbit/s"
	case strings.HasPrefix(unit, "%"):
		return short(f) + " %"
	case unit == "s", strings.HasPrefix(unit, "s/"):
		return short(f) + " s"
	}
	return short(f)
}

// short formats three significant digits, or all digits before the decimal point.
func short(f float64) string {
	switch {
	case f >= 100 || f == float64(int64(f)):
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2g", f)
}

// everything returns all figures of a benchmark.
func (r result) everything() string {
	if r.skipped != "" {
		return "not measured: " + r.skipped
	}
	var parts []string
	for _, unit := range r.units {
		if unit == "ns/op" && r.figures[unit] == 0 {
			continue // skipped on request
		}
		text := figure(r.figures[unit], unit)
		if unit != "ns/op" {
			text = short(r.figures[unit]) + " " + unit
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
