// Package finding defines the findings of OVN-Kubernetes' comparisons: differences between a database, Open vSwitch or a kernel and the Kubernetes API. It is
// pure.
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

// Kind is the kind of a difference.
type Kind string

// Kinds of differences.
const (
	// Stale exists although its object does not.
	Stale Kind = "stale"
	// Missing does not exist although it should.
	Missing Kind = "missing"
	// Different exists with other values than desired.
	Different Kind = "different"
)

// Cause returns the general cause of a kind, for findings without a detail.
func (k Kind) Cause() string {
	switch k {
	case Stale:
		return "its owner does not exist"
	case Missing:
		return "its owner exists"
	case Different:
		return "it was changed, or not updated"
	}
	return ""
}

// Finding is one difference.
type Finding struct {
	Kind  Kind  `json:"kind"`
	Place Place `json:"place"`
	// Object is its current or former object: "pod shop/web".
	Object string `json:"object"`
	// What is the row, port, interface, record, route or flow.
	What string `json:"what"`
	// Detail is a clause; empty if Kind is sufficient.
	Detail string `json:"detail,omitempty"`
}

// String returns the finding as a sentence.
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
	// More is the number of omitted findings.
	More int `json:"more,omitempty"`
	// Incomplete describes what could not be compared.
	Incomplete []string `json:"incomplete,omitempty"`
}

const (
	// maxFindings and maxIncomplete limit the lists of a report, maxLength its texts in bytes.
	maxFindings, maxIncomplete, maxLength = 200, 20, 400
)

// Encode returns the report as one line of JSON. It omits findings beyond the limit.
func (r Report) Encode() ([]byte, error) {
	out, err := json.Marshal(r.bounded())
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return append(out, '\n'), nil
}

// Decode decodes a report. It truncates what exceeds the limits and replaces unprintable characters, since nodes are not trusted.
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
	for _, f := range r.Findings[:min(len(r.Findings), maxFindings)] {
		f.Object, f.What, f.Detail = printable(f.Object), printable(f.What), printable(f.Detail)
		out.Findings = append(out.Findings, f)
	}
	out.More += len(r.Findings) - len(out.Findings)
	for _, s := range r.Incomplete[:min(len(r.Incomplete), maxIncomplete)] {
		out.Incomplete = append(out.Incomplete, printable(s))
	}
	return out
}

func printable(text string) string {
	if len(text) > maxLength {
		text = text[:maxLength] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// Sort sorts findings by place, kind, object, what and detail.
func Sort(all []Finding) {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Object, b.Object), cmp.Compare(a.What, b.What), cmp.Compare(a.Detail, b.Detail))
	})
}
