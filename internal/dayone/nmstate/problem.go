package nmstate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problem is an error or a warning about a document.
type Problem struct {
	// File is the name passed to Parse; it may be empty.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 is unknown.
	Line int `json:"line,omitempty"`
	// Path leads to the value, as in interfaces[0].ipv4.address[1].ip; empty for the document as a whole.
	Path string `json:"path,omitempty"`
	// Message describes the problem with the value, and how to resolve it.
	Message string `json:"message"`
	// Warning is true if the document can be used nevertheless.
	Warning bool `json:"warning,omitempty"`
}

// String returns one line: file:line: path: message.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
		if p.Line == 0 {
			b.WriteString(" ")
		}
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d: ", p.Line)
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	return b.String() + p.Message
}

// Problems are the problems of one or more documents.
type Problems []Problem

// HasErrors reports whether a problem is not a warning.
func (p Problems) HasErrors() bool {
	return slices.ContainsFunc(p, func(q Problem) bool { return !q.Warning })
}

// Errors returns the problems that are not warnings.
func (p Problems) Errors() Problems { return p.filter(false) }

// Warnings returns the warnings.
func (p Problems) Warnings() Problems { return p.filter(true) }

func (p Problems) filter(warning bool) Problems {
	var out Problems
	for _, q := range p {
		if q.Warning == warning {
			out = append(out, q)
		}
	}
	return out
}

// Sorted returns the problems in the order of lines, without duplicates.
func (p Problems) Sorted() Problems {
	out := slices.Clone(p)
	slices.SortStableFunc(out, func(a, b Problem) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return slices.Compact(out)
}

// Err returns an error with a line for each problem that is not a warning; nil if there is none.
func (p Problems) Err() error {
	var errs []error
	for _, q := range p.Errors() {
		errs = append(errs, errors.New(q.String()))
	}
	return errors.Join(errs...)
}

// Errorf adds an error about the value at a path of a document.
func (p *Problems) Errorf(d *Document, path, format string, args ...any) {
	*p = append(*p, Problem{File: d.Name, Line: d.Line(path), Path: path, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a warning about the value at a path of a document.
func (p *Problems) Warnf(d *Document, path, format string, args ...any) {
	*p = append(*p, Problem{File: d.Name, Line: d.Line(path), Path: path, Message: fmt.Sprintf(format, args...), Warning: true})
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxProblem converts an error of the YAML library, and extracts its line.
func syntaxProblem(name string, err error) Problem {
	p := Problem{File: name, Message: "not YAML: " + err.Error()}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Message = "not YAML: " + m[2]
	}
	return p
}

// parent returns the path of the parent value.
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i > 0 {
		return path[:i]
	}
	return ""
}
