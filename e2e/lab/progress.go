package lab

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// progress reduces the detailed output of Ginkgo to one line per test and the
// summary.
type progress struct {
	out  io.Writer
	rest []byte
	// test is the name of the current test, total the number of tests to run, done that of completed ones.
	test        string
	total, done int
	// closing is true once the summary has begun.
	closing bool
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

var (
	willRun = regexp.MustCompile(`^Will run (\d+) of \d+ specs`)
	// A test's name is followed by its labels, in brackets that hold a comma.
	testName   = regexp.MustCompile(`^(\[sig-.*?\])( \[[^\]]*,[^\]]*\])?$`)
	testResult = regexp.MustCompile(`^• (?:\[([A-Z]+)\] )?\[([0-9.]+) seconds\]`)
	closing    = regexp.MustCompile(`^(Summarizing \d+ Failures?:|Ran \d+ of \d+ Specs)`)
)

// Write implements io.Writer. A line may be split over several calls.
func (p *progress) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte{'\n'})
		if !ok {
			return len(b), nil
		}
		p.rest = rest
		if err := p.line(strings.TrimRight(string(line), " \r")); err != nil {
			return len(b), err
		}
	}
}

func (p *progress) line(line string) error {
	var err error
	switch {
	case p.closing || closing.MatchString(line):
		p.closing = true
		_, err = fmt.Fprintln(p.out, line)
	case willRun.MatchString(line):
		_, err = fmt.Sscanf(line, "Will run %d", &p.total)
	case testName.MatchString(line):
		p.test = testName.FindStringSubmatch(line)[1]
	case testResult.MatchString(line):
		p.done++
		m := testResult.FindStringSubmatch(line)
		result := "ok"
		if m[1] != "" {
			result = m[1]
		}
		_, err = fmt.Fprintf(p.out, "[%d/%d] %s: %s (%ss)\n", p.done, p.total, p.test, result, m[2])
	}
	return err
}
