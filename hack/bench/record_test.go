package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func line(t *testing.T, text string) result {
	t.Helper()
	r, ok := parse("x", text)
	if !ok {
		t.Fatalf("%q is not parsed as a result", text)
	}
	return r
}

func TestResultBeyondAFactorOfThreeIsADeviation(t *testing.T) {
	const benchmark, unit = "BenchmarkOperator/field-changed-2 1 ", " p99-ms"
	old := record{}.with([]result{line(t, benchmark+"90"+unit), line(t, "BenchmarkOperator/idle-2 1 0 reads/min")}, time.Time{}, 0)
	for _, c := range []struct {
		why, line string
		deviates  bool
	}{
		{"the same", benchmark + "90" + unit, false},
		{"three times as long", benchmark + "270" + unit, false},
		{"longer than that", benchmark + "271" + unit, true},
		{"a third", benchmark + "30" + unit, false},
		{"so short that the page is outdated", benchmark + "29" + unit, true},
		{"not reported any more", "BenchmarkOperator/field-changed-2 1 5 p50-ms", true},
		{"none, as recorded", "BenchmarkOperator/idle-2 1 0 reads/min", false},
		{"some where none is recorded", "BenchmarkOperator/idle-2 1 1 reads/min", true},
		{"never recorded", "BenchmarkOperator/restart-2 1 29 requests", false},
	} {
		if got := old.deviations([]result{line(t, c.line)}); (len(got) > 0) != c.deviates {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}

func TestRecordKeepsResultsOfEarlierRuns(t *testing.T) {
	old := record{}.with([]result{line(t, "BenchmarkA-2 1 1 s"), line(t, "BenchmarkB-2 1 2 s")}, time.Time{}, 0)
	merged := old.with([]result{line(t, "BenchmarkB-2 1 3 s")}, time.Time{}, 0).results()
	if len(merged) != 2 || merged[0].figures["s"] != 1 || merged[1].figures["s"] != 3 {
		t.Errorf("%+v", merged)
	}
}

func TestNetworksAreRecordedSeparately(t *testing.T) {
	const benchmark, unit = "BenchmarkChange/policy-2 1 ", " blocked-p99-ms"
	of := func(network, text string) result {
		r := line(t, text)
		r.network = network
		return r
	}
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	r := record{}.with([]result{line(t, "BenchmarkA-2 1 1 s")}, day(1), 7)
	r = r.with([]result{of("One", benchmark+"90"+unit)}, day(2), 0.25)
	r = r.with([]result{of("Two", benchmark+"900"+unit)}, day(3), 7)
	for network, figure := range map[string]string{"One": "900", "Two": "90"} {
		if wrong := r.deviations([]result{of(network, benchmark+figure+unit)}); len(wrong) != 1 || !strings.HasPrefix(wrong[0], network+": ") {
			t.Errorf("%s with the figure of the other: %q", network, wrong)
		}
	}
	skipped := result{name: "Change/policy", network: "One", skipped: "it has none"}
	if wrong := r.deviations([]result{skipped}); len(wrong) != 1 || !strings.Contains(wrong[0], "it has none") {
		t.Errorf("a recorded benchmark that is skipped: %q", wrong)
	}
	again := r.with([]result{of("One", benchmark+"80"+unit)}, day(4), 0)
	notes := again.notes()
	if r.Date != "2026-01-01" || again.Date != r.Date || len(again.Results) != 3 {
		t.Errorf("%+v", again)
	}
	if !strings.HasPrefix(notes["One"], "2026-01-04, ") || !strings.HasPrefix(notes["Two"], "2026-01-03, ") {
		t.Errorf("%q", notes)
	}
	if strings.Contains(notes["One"], "load") || !strings.HasSuffix(notes["Two"], ", load average before the run 7.") {
		t.Errorf("%q", notes)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "recorded.json"), filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := record{}.with([]result{line(t, "BenchmarkOperator/field-changed-2 1 93 p99-ms")}, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), 0)
	if err := written.write(file, page); err != nil {
		t.Fatal(err)
	}
	read, err := readRecord(file)
	if err != nil || len(read.deviations(written.results())) > 0 || read.Date != "2026-01-02" {
		t.Errorf("%+v, %v", read, err)
	}
	shown, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(shown), "before\n") || !strings.HasSuffix(string(shown), "after\n") ||
		!strings.Contains(string(shown), "| 93 ms | 150 ms |") || strings.Contains(string(shown), "old") {
		t.Errorf("%v:\n%s", err, shown)
	}
	if err := written.write(file, file); err == nil {
		t.Error("a page without marks is accepted")
	}
}

func TestThePageShowsTheRecord(t *testing.T) {
	recorded, err := readRecord("../../" + recordFile)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../" + pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := recorded.shownIn(string(page)); err != nil || shown != string(page) {
		t.Errorf("%s does not show %s (%v): write both with make bench BENCH=-record", pageFile, recordFile, err)
	}
}
