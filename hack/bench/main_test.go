package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBenchmarkLine(t *testing.T) {
	r, ok := parse("internal/x", "BenchmarkOperator/field-changed-2   1   0.5 p50-ms  93.0 p99-ms")
	want := result{directory: "internal/x", name: "Operator/field-changed", units: []string{"p50-ms", "p99-ms"}, figures: map[string]float64{"p50-ms": 0.5, "p99-ms": 93}}
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(result{})); !ok || diff != "" {
		t.Errorf("%v (-want +got):\n%s", ok, diff)
	}
	for _, line := range []string{"PASS", "ok  \tx\t1.2s", "BenchmarkOperator", "Benchmarks are run", "--- FAIL: BenchmarkX-2 (0.01 s) x", ""} {
		if _, ok := parse("x", line); ok {
			t.Errorf("%q is parsed as a result", line)
		}
	}
}

func TestResultsOfTheLabHaveTheirNetwork(t *testing.T) {
	results := reader{directory: "bench"}
	var got []result
	for _, line := range []string{"BenchmarkA-2 1 1 s", "network: One", "goos: linux", "skipped: BenchmarkChange/policy: it has no policies: none", "BenchmarkB/c-2 1 2 s"} {
		if r, ok := results.read(line); ok {
			got = append(got, r)
		}
	}
	want := []result{
		{directory: "bench", name: "A", units: []string{"s"}, figures: map[string]float64{"s": 1}},
		{directory: "bench", name: "Change/policy", network: "One", skipped: "it has no policies: none"},
		{directory: "bench", name: "B/c", network: "One", units: []string{"s"}, figures: map[string]float64{"s": 2}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEachNetworkHasATable(t *testing.T) {
	outside, _ := parse("x", "BenchmarkRenderEverything-2 1 5000000 ns/op")
	one, two := outside, result{directory: "bench", name: "Change/policy", network: "Two", skipped: "it has none"}
	one.directory, one.name, one.network = "bench", "Other", "One"
	got := table([]result{two, one, outside, {directory: "bench", name: "Further", network: "Two", skipped: "no link"}}, map[string]string{"One": "Yesterday."})
	first, rest, _ := strings.Cut(got, "\n### One\n\nYesterday.\n\n")
	second, third, _ := strings.Cut(rest, "\n### Two\n\n")
	for part, want := range map[string]string{first: "| everything rendered | 5 ms |", second: "| bench `Other` | 5 ms |", third: "| not measured: it has none | | | |"} {
		if !strings.Contains(part, want) {
			t.Errorf("%q is missing in %q", want, part)
		}
	}
	if want := "| bench `Further` | not measured: no link |"; !strings.Contains(third, want) {
		t.Errorf("%q is missing in %q", want, third)
	}
}

func TestResultsAreComparedWithGoalsAndPeers(t *testing.T) {
	for _, c := range []struct{ why, line, want string }{
		{"a goal that is reached", "BenchmarkOperator/field-changed-2 1 93 p99-ms", "| 93 ms | 150 ms | 28 s, peer | 301 × |"},
		{"a goal that is missed is marked", "BenchmarkLargeCluster/rolling-2 1 1.5 peak/idle", "| 1.5 | 1.3, **missed** | 2.8, peer | 1.9 × |"},
		{"a goal that is a multiple", "BenchmarkFurtherNetworks/networks=0/parallel=1-2 1 14 add-p50-ms 10 plain-add-p50-ms", "| 14 ms | 1.4 times | 10 ms, same run, the default network by libcni | 0.71 × |"},
		{"one that is missed", "BenchmarkFurtherNetworks/networks=0/parallel=1-2 1 15.1 add-p99-ms 10 plain-add-p99-ms", "| 15.1 ms | 1.5 times, **missed** |"},
		{"nothing is better than everything", "BenchmarkOperator/idle-2 1 0 writes/min", "| 0 | 0 | 41, peer | ∞ |"},
		{"the other figure comes from the same run", "BenchmarkPodToPodAcrossNodes/one-CPU-2 1 15 pod-rtt-us 10 node-rtt-us", "| 15 µs | - | 10 µs, same run, nodes | 0.67 × |"},
		{"a figure that a benchmark did not report is named", "BenchmarkOperator/restart-2 1 5 writes", "| not reported |"},
		{"a benchmark that nothing is compared with is shown", "BenchmarkOther-2 1 5 ns/op", "| x `Other` | 0.005 µs |"},
	} {
		r, _ := parse("x", c.line)
		if got := table([]result{r}, nil); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is missing in\n%s", c.why, c.want, got)
		}
	}
}

func TestEveryComparisonNamesAnExistingBenchmark(t *testing.T) {
	directories, err := withBenchmarks("../..")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, directory := range directories {
		files, _ := filepath.Glob(filepath.Join(directory, "*_test.go"))
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(content)
		}
	}
	for _, c := range comparisons() {
		name, _, _ := strings.Cut(c.benchmark, "/")
		if !strings.Contains(sources.String(), "func Benchmark"+name+"(") {
			t.Errorf("benchmark %s does not exist", name)
		}
	}
}

func TestFailedBenchmarkFailsTheRun(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module x\n\ngo 1.26\n",
		"x_test.go": "package x\n\nimport \"testing\"\n\nfunc BenchmarkGood(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n\nfunc BenchmarkBad(b *testing.B) { b.Fatal(\"no\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	all, err := measure(t.Context(), ".", ".", io.Discard)
	if err == nil || len(all) != 1 || all[0].name != "Good" {
		t.Errorf("got %v, %v", all, err)
	}
}
