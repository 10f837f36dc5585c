package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// The record of the last results, and the page with its table, relative to the root of the repository.
const (
	recordFile = "hack/bench/recorded.json"
	pageFile   = "docs/benchmarks.md"
)

// mostFactor is the factor by which a figure may differ from the recorded one, in either direction.
const mostFactor = 3

// record has the recorded results of benchmarks.
type record struct {
	// Machine and Date are those of the last recording outside of the lab.
	Machine string `json:"machine"`
	Date    string `json:"date"`
	// Networks are the last recordings in the lab, one for each network.
	Networks []recordedNetwork `json:"networks"`
	Results  []recordedResult  `json:"results"`
}

// recordedNetwork describes the last recording on a network.
type recordedNetwork struct {
	Network string `json:"network"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
	// Load is the load average of the minute before it; 0 if it is unknown.
	Load float64 `json:"load"`
}

type recordedResult struct {
	Directory string         `json:"directory"`
	Name      string         `json:"name"`
	Network   string         `json:"network,omitempty"`
	Skipped   string         `json:"skipped,omitempty"`
	Figures   []recordedUnit `json:"figures,omitempty"`
}

// same reports whether two results are of the same benchmark on the same network.
func (r recordedResult) same(other recordedResult) bool {
	return r.Directory == other.Directory && r.Name == other.Name && r.Network == other.Network
}

type recordedUnit struct {
	Unit   string  `json:"unit"`
	Figure float64 `json:"figure"`
}

// readRecord reads the record; one that does not exist is empty.
func readRecord(file string) (record, error) {
	var r record
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// with returns the record with the results of a run in place of those of the same benchmarks. load is the load average before the run. The results
// are sorted, so that they do not depend on the order of the runs.
func (r record) with(measured []result, now time.Time, load float64) record {
	out := record{Machine: r.Machine, Date: r.Date, Networks: slices.Clone(r.Networks)}
	for _, network := range networksOf(measured) {
		if network == "" {
			out.Machine, out.Date = machine(), now.Format(time.DateOnly)
			continue
		}
		out.Networks = slices.DeleteFunc(out.Networks, func(n recordedNetwork) bool { return n.Network == network })
		out.Networks = append(out.Networks, recordedNetwork{Network: network, Machine: machine(), Date: now.Format(time.DateOnly), Load: load})
	}
	for _, m := range measured {
		fresh := recordedResult{Directory: m.directory, Name: m.name, Network: m.network, Skipped: m.skipped}
		for _, unit := range m.units {
			fresh.Figures = append(fresh.Figures, recordedUnit{unit, m.figures[unit]})
		}
		out.Results = append(out.Results, fresh)
	}
	for _, old := range r.Results {
		if !slices.ContainsFunc(out.Results, old.same) {
			out.Results = append(out.Results, old)
		}
	}
	slices.SortFunc(out.Networks, func(a, b recordedNetwork) int { return strings.Compare(a.Network, b.Network) })
	slices.SortFunc(out.Results, func(a, b recordedResult) int {
		return cmp.Or(strings.Compare(a.Directory, b.Directory), strings.Compare(a.Network, b.Network), strings.Compare(a.Name, b.Name))
	})
	return out
}

// results are those of the record, as a run reports them.
func (r record) results() []result {
	var out []result
	for _, old := range r.Results {
		n := result{directory: old.Directory, name: old.Name, network: old.Network, skipped: old.Skipped, figures: map[string]float64{}}
		for _, f := range old.Figures {
			n.units = append(n.units, f.Unit)
			n.figures[f.Unit] = f.Figure
		}
		out = append(out, n)
	}
	return out
}

// deviations are the compared figures of a run that are not within mostFactor of the recorded ones, a sentence each. A figure
// that is recorded as 0 must be 0.
func (r record) deviations(measured []result) []string {
	var out []string
	for _, network := range networksOf(measured) {
		before := map[string]result{}
		for _, old := range ofNetwork(network, r.results()) {
			before[old.name] = old
		}
		for _, c := range comparisons() {
			now := ofNetwork(network, measured)
			i := slices.IndexFunc(now, func(m result) bool { return m.name == c.benchmark })
			old, recorded := before[c.benchmark].figures[c.unit]
			if i < 0 || !recorded {
				continue
			}
			if text := c.deviation(now[i], old); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

// deviation returns a sentence if the figure of a result is not within mostFactor of the recorded one.
func (c comparison) deviation(r result, old float64) string {
	what := c.what
	if r.network != "" {
		what = r.network + ": " + what
	}
	now, ok := r.figures[c.unit]
	switch {
	case r.skipped != "":
		return fmt.Sprintf("%s: not measured, recorded as %s: %s", what, figure(old, c.unit), r.skipped)
	case !ok || now > mostFactor*old || now*mostFactor < old:
		return fmt.Sprintf("%s: %s, recorded as %s", what, figure(now, c.unit), figure(old, c.unit))
	}
	return ""
}

// write stores the record, and the table of it in the page.
func (r record) write(recordFile, pageFile string) error {
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	page, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	shown, err := r.shownIn(string(page))
	if err != nil {
		return fmt.Errorf("%s: %w", pageFile, err)
	}
	return errors.Join(os.WriteFile(recordFile, append(raw, '\n'), 0o644), os.WriteFile(pageFile, []byte(shown), 0o644))
}

// The marks between which the page has the table.
const (
	beginMark = "<!-- recorded: make bench BENCH=-record -->\n"
	endMark   = "<!-- end of what is recorded -->\n"
)

// shownIn returns a page with the table of the record between its marks.
func (r record) shownIn(page string) (string, error) {
	before, rest, ok := strings.Cut(page, beginMark)
	_, after, closed := strings.Cut(rest, endMark)
	if !ok || !closed {
		return "", errors.New("the page has no marks for the table")
	}
	text := "Nothing is recorded yet.\n"
	if len(r.Results) > 0 {
		text = fmt.Sprintf("%s, %s.\n\n%s", r.Date, r.Machine, table(r.results(), r.notes()))
	}
	return before + beginMark + "\n" + text + "\n" + endMark + after, nil
}

// notes describe the recordings on networks: their date, the machine, and its load average if it is known.
func (r record) notes() map[string]string {
	notes := map[string]string{}
	for _, n := range r.Networks {
		note := n.Date + ", " + n.Machine
		if n.Load > 0 {
			note += ", load average before the run " + short(n.Load)
		}
		notes[n.Network] = note + "."
	}
	return notes
}

// loadAverage returns the load average of the last minute; 0 if it is unknown.
func loadAverage() float64 {
	var load float64
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(raw), &load)
	}
	return load
}

// machine describes this machine by its processors, its memory and its kernel.
func machine() string {
	model, memory, kernel := "unknown processor", "", ""
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	var kib int
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, err := fmt.Sscanf(string(raw), "MemTotal: %d kB", &kib); err == nil {
			memory = fmt.Sprintf(", %d GiB", (kib+1<<19)>>20)
		}
	}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = ", Linux " + strings.TrimSpace(string(raw))
	}
	return fmt.Sprintf("%d CPUs (%s)%s%s, %s", runtime.NumCPU(), model, memory, kernel, runtime.Version())
}
