package finding

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestOnlyPersistentDifferencesAreReported(t *testing.T) {
	stale := func(what, detail string) Finding {
		return Finding{Kind: Stale, Place: Ports, Object: "pod a/b", What: what, Detail: detail}
	}
	failure := errors.New("the database does not answer")
	for _, tc := range []struct {
		why   string
		looks []any // []Finding or error
		want  []Finding
		err   error
		took  int
	}{
		{"nothing: one look is enough", []any{[]Finding(nil)}, nil, nil, 1},
		{"it is repaired meanwhile", []any{[]Finding{stale("p", "")}, []Finding(nil)}, nil, nil, 2},
		{"it stays, with another detail", []any{[]Finding{stale("p", "3 flows")}, []Finding{stale("p", "2 flows")}, []Finding{stale("p", "1 flow")}}, []Finding{stale("p", "1 flow")}, nil, 3},
		{"each time another one: what is read changes", []any{[]Finding{stale("p", "")}, []Finding{stale("q", "")}}, nil, nil, 2},
		{"one of two stays", []any{[]Finding{stale("q", ""), stale("p", "")}, []Finding{stale("p", "")}, []Finding{stale("p", ""), stale("q", "")}}, []Finding{stale("p", "")}, nil, 3},
		{"a look fails", []any{[]Finding{stale("p", "")}, failure}, nil, failure, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			took := 0
			report, err := Persistent(t.Context(), Persistence{Attempts: 3, Interval: time.Minute}, func(context.Context) (Report, error) {
				took++
				if err, is := tc.looks[took-1].(error); is {
					return Report{}, err
				}
				found, _ := tc.looks[took-1].([]Finding)
				return Report{Findings: found}, nil
			})
			if !errors.Is(err, tc.err) || took != tc.took || err == nil && !slices.Equal(report.Findings, tc.want) {
				t.Errorf("%s: %v, %v after %d looks; want %v, %v after %d", tc.why, report.Findings, err, took, tc.want, tc.err, tc.took)
			}
		})
	}
}

func TestContextCancelsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Persistent(ctx, Persistence{Attempts: 3, Interval: time.Minute}, func(context.Context) (Report, error) {
			return Report{Findings: []Finding{{Kind: Stale, Place: Ports}}}, nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestAReportOfANodeIsBounded: a node writes reports, and may be hostile.
func TestAReportOfANodeIsBounded(t *testing.T) {
	sent := Report{More: -5, Incomplete: make([]string, 1000)}
	for range 1000 {
		sent.Findings = append(sent.Findings, Finding{Kind: Stale, Place: Links, Object: strings.Repeat("ä", 5000), What: "a\x1b[2Jb\n", Detail: "\xff"})
	}
	raw, err := sent.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(raw)
	if err != nil || len(got.Findings) != maxFindings || got.More != 1000-maxFindings || len(got.Incomplete) != maxIncomplete {
		t.Fatalf("%d findings, %d more, %d incomplete, %v", len(got.Findings), got.More, len(got.Incomplete), err)
	}
	for _, text := range []string{got.Findings[0].Object, got.Findings[0].What, got.Findings[0].Detail} {
		if len(text) > maxLength+10 || strings.ContainsAny(text, "\x1b\n") || !utf8.ValidString(text) {
			t.Errorf("%q", text)
		}
	}
	for _, bad := range []string{"", "no JSON", `{"findings":[{"kind":"odd","place":"interfaces"}]}`, `{"findings":[{"kind":"stale","place":"nowhere"}]}`, `{"findings":3}`} {
		if r, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, r)
		}
	}
}

func TestEveryPlaceHasAWayOutAndEveryKindHasACause(t *testing.T) {
	for _, p := range []Place{Annotations, Northbound, Southbound, Chassis, Bindings, Records, Ports, Links, Management, Tunnels, Flows, IPsec} {
		if p.WayOut() == "" {
			t.Errorf("%s has no way out", p)
		}
	}
	for _, k := range []Kind{Stale, Missing, Different} {
		if k.Cause() == "" {
			t.Errorf("%s has no cause", k)
		}
	}
}
