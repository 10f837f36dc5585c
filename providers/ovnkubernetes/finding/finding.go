// Package finding is what the comparisons of OVN-Kubernetes report: something in a database, in Open vSwitch or in a kernel that does not agree with
// the Kubernetes API. It is pure.
package finding

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Kind is how something does not agree.
type Kind string

// The kinds.
const (
	// Stale exists, and what it belongs to does not.
	Stale Kind = "stale"
	// Missing does not exist, and should.
	Missing Kind = "missing"
	// Different exists, and is not as it should be.
	Different Kind = "different"
)

// Cause says what a kind means, for findings without a detail.
func (k Kind) Cause() string {
	switch k {
	case Stale:
		return "what it belongs to does not exist"
	case Missing:
		return "what it belongs to exists"
	case Different:
		return "it was changed, or not updated"
	}
	return ""
}

// Finding is one thing that does not agree.
type Finding struct {
	Kind  Kind  `json:"kind"`
	Place Place `json:"place"`
	// Object is what it belongs to, or belonged to: "pod shop/web".
	Object string `json:"object"`
	// What is the row, port, interface, record, route or flow.
	What string `json:"what"`
	// Detail is a clause, empty where Kind says everything.
	Detail string `json:"detail,omitempty"`
}

// String is the finding as a sentence.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s: %s (%s)", f.Place, f.Kind, f.What, f.Object)
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

// Report is the result of a comparison.
type Report struct {
	Findings []Finding `json:"findings"`
	// More is how many findings were left out.
	More int `json:"more,omitempty"`
	// Incomplete are sentences on what could not be compared.
	Incomplete []string `json:"incomplete,omitempty"`
}

const (
	// mostFindings and mostIncomplete bound a report, longest its texts in bytes.
	mostFindings, mostIncomplete, longest = 200, 20, 400
)

// Encode returns the report as one line of JSON, with its first findings.
func (r Report) Encode() ([]byte, error) {
	out, err := json.Marshal(r.bounded())
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode reads a report that a node has written: what is too long is cut, and what cannot be printed is replaced.
func Decode(raw []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return Report{}, fmt.Errorf("decode report: %w", err)
	}
	for _, f := range r.Findings {
		if !slices.Contains([]Kind{Stale, Missing, Different}, f.Kind) || f.Place.WayOut() == "" {
			return Report{}, errors.New("decode report: a finding has a kind or place that is not known")
		}
	}
	return r.bounded(), nil
}

func (r Report) bounded() Report {
	out := Report{More: max(r.More, 0)}
	for _, f := range r.Findings[:min(len(r.Findings), mostFindings)] {
		f.Object, f.What, f.Detail = printable(f.Object), printable(f.What), printable(f.Detail)
		out.Findings = append(out.Findings, f)
	}
	out.More += len(r.Findings) - len(out.Findings)
	for _, s := range r.Incomplete[:min(len(r.Incomplete), mostIncomplete)] {
		out.Incomplete = append(out.Incomplete, printable(s))
	}
	return out
}

func printable(text string) string {
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// Sort sorts findings by place, kind and what they are about.
func Sort(all []Finding) {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(a.What, b.What), cmp.Compare(a.Detail, b.Detail))
	})
}
