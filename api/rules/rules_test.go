package rules

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	identifier = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	verbs      = regexp.MustCompile(`%[sd]`)
)

func TestEveryRuleIsComplete(t *testing.T) {
	seen := map[string]string{}
	for _, r := range All() {
		if !identifier.MatchString(r.Sentence.rule) || len(r.At) == 0 || r.Valid == "" || r.Sentence.text == "" {
			t.Errorf("%+v", r)
		}
		if r.Text != "" && r.Number != "" || r.Message != "" && (r.Text != "" || r.Number != "" || len(r.Args) > 0) {
			t.Errorf("%s: more than one way to make the message", r.Sentence.rule)
		}
		if n := len(verbs.FindAllString(strings.ReplaceAll(r.Sentence.text, "%%", ""), -1)); r.Message == "" && n != len(r.Args) {
			t.Errorf("%s: the sentence has %d verbs, and %d arguments", r.Sentence.rule, n, len(r.Args))
		}
		if strings.HasSuffix(r.Sentence.text, ".") || strings.HasSuffix(r.Sentence.text, " ") {
			t.Errorf("%s: the sentence ends with a full stop or a space", r.Sentence.rule)
		}
		for _, at := range r.At {
			key := at + " " + r.Field + " " + r.Condition()
			if other, ok := seen[key]; ok {
				t.Errorf("%s and %s are the same rule of %s", r.Sentence.rule, other, at)
			}
			seen[key] = r.Sentence.rule
		}
	}
}

func TestMessages(t *testing.T) {
	for _, tc := range []struct {
		why               string
		rule              Rule
		expression, fixed string
	}{
		{"a sentence", Rule{Sentence: New("a", "is missing; write it")}, "", "is missing; write it"},
		{"a value and a sentence", Rule{Text: "self", Sentence: New("a", "is wrong")}, `'"%s" is wrong'.format([self])`, ""},
		{"a number and arguments", Rule{Number: "self", Sentence: New("a", "is not %d"), Args: []string{"1 +\n\t2"}}, `'%d is not %d'.format([self, 1 + 2])`, ""},
		{"arguments alone", Rule{Sentence: New("a", "is not %s"), Args: []string{"self.a"}}, `'is not %s'.format([self.a])`, ""},
		{"an apostrophe", Rule{Text: "self", Sentence: New("a", "isn't")}, `'"%s" isn\'t'.format([self])`, ""},
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

func TestSentence(t *testing.T) {
	s := New("prefix", "is not below %s; use 1%% or %s").For("etcd")
	if s.Rule() != "etcd-prefix" || s.Detail("/a", "/b") != "is not below /a; use 1% or /b" {
		t.Errorf("%s: %s", s.Rule(), s.Detail("/a", "/b"))
	}
	at := field.NewPath("spec", "a")
	for _, tc := range []struct {
		err  *field.Error
		want string
	}{
		{s.Invalid(at, "x", "/a", "/b"), `spec.a: Invalid value: "x": is not below /a; use 1% or /b`},
		{s.Required(at, "/a", "/b"), `spec.a: Required value: is not below /a; use 1% or /b`},
		{s.Forbidden(at, "/a", "/b"), `spec.a: Forbidden: is not below /a; use 1% or /b`},
	} {
		if tc.err.Error() != tc.want || tc.err.Origin != "etcd-prefix" {
			t.Errorf("%s (%s), want %s", tc.err, tc.err.Origin, tc.want)
		}
	}
	if got, want := s.CEL(`a's "%s" `, "self", "x", "y"), `'a\'s "%s" is not below %s; use 1%% or %s'.format([self, x, y])`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := s.Message("/a", "/b"), "is not below /a; use 1% or /b (etcd-prefix)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := s.MessageCEL("spec.a: ", "x", "y"), `'spec.a: is not below %s; use 1%% or %s (etcd-prefix)'.format([x, y])`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := New("a", "use 1%% or more").CEL("it "), `'it use 1% or more'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
