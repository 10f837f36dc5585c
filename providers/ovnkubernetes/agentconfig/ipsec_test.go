package agentconfig

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReportRoundTrip(t *testing.T) {
	r := Report{Phase: PhaseAccept, ESP: "userspace", Overhead: 73, Peers: 2, Missing: []string{"b"}, Problems: []string{"there are no keys with node b"}}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseReport(text)
	if err != nil || got.Phase != r.Phase || got.Peers != 2 || len(got.Missing) != 1 || len(got.Problems) != 1 || got.ESP != r.ESP {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzAReportOfANodeIsBounded(f *testing.F) {
	f.Add(`{"phase":"require","peers":1,"problems":["` + strings.Repeat("ä", 400) + `"]}`)
	f.Add(`{"phase":"none"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseReport(text)
		if err != nil {
			return
		}
		if len(r.Missing) > maxMissing || len(r.Problems) > maxProblems {
			t.Errorf("%+v", r)
		}
		for _, p := range r.Problems {
			if len(p) > maxProblemLength+3 || utf8.ValidString(text) && !utf8.ValidString(p) {
				t.Errorf("%q", p)
			}
		}
	})
}
