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
	old := record{}.with([]result{line(t, benchmark+"90"+unit), line(t, "BenchmarkOperator/idle-2 1 0 reads/min")}, time.Time{})
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
	old := record{}.with([]result{line(t, "BenchmarkA-2 1 1 s"), line(t, "BenchmarkB-2 1 2 s")}, time.Time{})
	merged := old.with([]result{line(t, "BenchmarkB-2 1 3 s")}, time.Time{}).results()
	if len(merged) != 2 || merged[0].figures["s"] != 1 || merged[1].figures["s"] != 3 {
		t.Errorf("%+v", merged)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "recorded.json"), filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	written := record{}.with([]result{line(t, "BenchmarkOperator/field-changed-2 1 93 p99-ms")}, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
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
