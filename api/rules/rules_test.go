package rules

import (
	"regexp"
	"strings"
	"testing"
)

var (
	identifier = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	verbs      = regexp.MustCompile(`%[sd]`)
)

func TestEveryRuleIsComplete(t *testing.T) {
	seen := map[string]string{}
	for _, r := range All() {
		if !identifier.MatchString(r.ID) || len(r.At) == 0 || r.Valid == "" {
			t.Errorf("%+v", r)
		}
		if (r.Sentence == "") == (r.Message == "") {
			t.Errorf("%s needs a sentence or a message, not both", r.ID)
		}
		if r.Text != "" && r.Number != "" || r.Message != "" && (r.Text != "" || r.Number != "" || len(r.Args) > 0) {
			t.Errorf("%s: more than one way to make the message", r.ID)
		}
		if n := len(verbs.FindAllString(strings.ReplaceAll(r.Sentence, "%%", ""), -1)); n != len(r.Args) {
			t.Errorf("%s: the sentence has %d verbs, and %d arguments", r.ID, n, len(r.Args))
		}
		if strings.HasSuffix(r.Sentence, ".") || strings.HasSuffix(r.Sentence, " ") {
			t.Errorf("%s: the sentence ends with a full stop or a space", r.ID)
		}
		for _, at := range r.At {
			key := at + " " + r.Field + " " + r.Condition()
			if other, ok := seen[key]; ok {
				t.Errorf("%s and %s are the same rule of %s", r.ID, other, at)
			}
			seen[key] = r.ID
		}
	}
}

func TestMessages(t *testing.T) {
	for _, tc := range []struct {
		why               string
		rule              Rule
		expression, fixed string
	}{
		{"a sentence", Rule{Sentence: "is missing; write it"}, "", "is missing; write it"},
		{"a value and a sentence", Rule{Text: "self", Sentence: "is wrong"}, `'"%s" is wrong'.format([self])`, ""},
		{"a number and arguments", Rule{Number: "self", Sentence: "is not %d", Args: []string{"1 +\n\t2"}}, `'%d is not %d'.format([self, 1 + 2])`, ""},
		{"arguments alone", Rule{Sentence: "is not %s", Args: []string{"self.a"}}, `'is not %s'.format([self.a])`, ""},
		{"an apostrophe", Rule{Text: "self", Sentence: "isn't"}, `'"%s" isn\'t'.format([self])`, ""},
		{"an expression", Rule{Message: "self ?\n\t'a' : 'b'"}, "self ? 'a' : 'b'", ""},
	} {
		if got := tc.rule.Expression(); got != tc.expression {
			t.Errorf("%s: %s, want %s", tc.why, got, tc.expression)
		}
		if got := tc.rule.Fixed(); got != tc.fixed {
			t.Errorf("%s: %q, want %q", tc.why, got, tc.fixed)
		}
	}
}

func TestDetail(t *testing.T) {
	if got := Detail("cidr-host-bits", "10.0.0.0/8"); got != "has host bits set; did you mean 10.0.0.0/8?" {
		t.Error(got)
	}
	for _, id := range []string{"no-such-rule", "hostprefix-range", "cidr-host-bits"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a sentence is found", id)
				}
			}()
			t.Log(Detail(id))
		}()
	}
}
