// Command bench runs every benchmark of the repository, one package after another, and prints each figure with its goal, the figure to
// compare with, and the ratio.
//
//	[NETWORK=TYPE] go run ./hack/bench [-run REGEXP] [-table FILE] [-record] [DIRECTORY...]
//
// Without directories it runs the benchmarks of all of them, including those in the lab, which are those of e2e/bench and use the network NETWORK. If a benchmark fails, the others still run, and the
// command ends with an error that names it. It also ends with an error if a figure differs by more than a factor of three from the
// recorded one, since the page is out of date then: repair the cause, or record the new figures with -record, which writes
// hack/bench/recorded.json and the table of docs/benchmarks.md. -run selects benchmarks like the flag -bench of go test, -table also
// writes the table of the run to a file.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	selected := flag.String("run", ".", "which benchmarks to run, as go test -bench takes it")
	file := flag.String("table", "", "a file to write the table to, in Markdown")
	recorded := flag.Bool("record", false, "record what is measured, and show it in docs/benchmarks.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *selected, *file, *recorded, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, selected, file string, recorded bool, directories []string) error {
	last, err := readRecord(recordFile)
	if err != nil {
		return err
	}
	load := loadAverage()
	if len(directories) == 0 {
		if directories, err = withBenchmarks("."); err != nil {
			return err
		}
	}
	var all []result
	var failed []string
	for _, directory := range directories {
		fmt.Printf("== %s\n", directory)
		measured, err := measure(ctx, directory, selected, os.Stdout)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", directory, err))
		}
		all = append(all, measured...)
	}
	text := table(all, nil)
	fmt.Println("\n" + text)
	if file != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if recorded {
		if err := last.with(all, time.Now(), load).write(recordFile, pageFile); err != nil {
			return err
		}
	} else if wrong := last.deviations(all); len(wrong) > 0 {
		failed = append(failed, "not within a factor of 3 of what is recorded:\n    "+strings.Join(wrong, "\n    "))
	}
	if len(failed) > 0 {
		return errors.New("failed:\n  " + strings.Join(failed, "\n  "))
	}
	return nil
}

var declaration = regexp.MustCompile(`(?m)^func Benchmark[A-Z]`)

// withBenchmarks returns the directories below root whose tests have benchmarks, those of the other module, in the lab, last.
func withBenchmarks(root string) ([]string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if declaration.Match(content) {
			found[filepath.Dir(path)] = true
		}
		return err
	})
	var directories, lab []string
	for directory := range found {
		if directory == "e2e" || strings.HasPrefix(directory, "e2e/") {
			lab = append(lab, directory)
		} else {
			directories = append(directories, directory)
		}
	}
	slices.Sort(directories)
	slices.Sort(lab)
	return append(directories, lab...), err
}

// measure runs the benchmarks of one directory and returns their results. It prints their output.
func measure(ctx context.Context, directory, selected string, show io.Writer) ([]result, error) {
	arguments := []string{"test", "-run", "^$", "-bench", selected, "-benchmem", "-timeout", "40m"}
	dir, directory := ".", filepath.ToSlash(directory)
	if rest, lab := strings.CutPrefix(directory, "e2e/"); lab {
		// One iteration in the lab has many operations.
		dir, directory, arguments = "e2e", rest, append(arguments, "-benchtime", "1x")
	}
	cmd := exec.CommandContext(ctx, "go", append(arguments, "./"+strings.TrimPrefix(directory, "./"))...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var all []result
	results := reader{directory: directory}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if r, ok := results.read(lines.Text()); ok {
			all = append(all, r)
		}
		fmt.Fprintln(show, lines.Text())
	}
	return all, errors.Join(lines.Err(), cmd.Wait())
}
