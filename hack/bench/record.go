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
	// Machine and Date are those of the last recording.
	Machine string           `json:"machine"`
	Date    string           `json:"date"`
	Results []recordedResult `json:"results"`
}

type recordedResult struct {
	Directory string         `json:"directory"`
	Name      string         `json:"name"`
	Figures   []recordedUnit `json:"figures"`
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

// with returns the record with the results of a run in place of those of the same benchmarks. The results are sorted, so that they do not
// depend on the order of the runs.
func (r record) with(measured []result, now time.Time) record {
	out := record{Machine: machine(), Date: now.Format(time.DateOnly)}
	for _, m := range measured {
		fresh := recordedResult{Directory: m.directory, Name: m.name}
		for _, unit := range m.units {
			fresh.Figures = append(fresh.Figures, recordedUnit{unit, m.figures[unit]})
		}
		out.Results = append(out.Results, fresh)
	}
	for _, old := range r.Results {
		if !slices.ContainsFunc(out.Results, func(n recordedResult) bool { return n.Directory == old.Directory && n.Name == old.Name }) {
			out.Results = append(out.Results, old)
		}
	}
	slices.SortFunc(out.Results, func(a, b recordedResult) int {
		return cmp.Or(strings.Compare(a.Directory, b.Directory), strings.Compare(a.Name, b.Name))
	})
	return out
}

// results are those of the record, as a run reports them.
func (r record) results() []result {
	var out []result
	for _, old := range r.Results {
		n := result{directory: old.Directory, name: old.Name, figures: map[string]float64{}}
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
	before := map[string]result{}
	for _, old := range r.results() {
		before[old.name] = old
	}
	var out []string
	for _, c := range comparisons() {
		i := slices.IndexFunc(measured, func(m result) bool { return m.name == c.benchmark })
		old, recorded := before[c.benchmark].figures[c.unit]
		if i < 0 || !recorded {
			continue
		}
		now, ok := measured[i].figures[c.unit]
		if !ok || now > mostFactor*old || now*mostFactor < old {
			out = append(out, fmt.Sprintf("%s: %s, recorded as %s", c.what, figure(now, c.unit), figure(old, c.unit)))
		}
	}
	return out
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
		text = fmt.Sprintf("%s, %s.\n\n%s", r.Date, r.Machine, table(r.results()))
	}
	return before + beginMark + "\n" + text + "\n" + endMark + after, nil
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
