package rules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Sentence is one way to violate a rule, and what the message about it is: the problem and the remedy, without the field and the value, which
// precede it. It is written once, as a variable of a package, and used by the rules of CRDs, by admission policies and by Go code. A test of
// internal/archtest reads all of them, and that each use has as many arguments as the text has verbs.
type Sentence struct{ rule, text string }

// New returns a sentence of the rule with an identifier. The verbs of the text, %s and %d, have the same meaning in Go and in CEL.
func New(rule, text string) Sentence { return Sentence{rule: rule, text: text} }

// Rule returns the identifier of the rule.
func (s Sentence) Rule() string { return s.rule }

// For returns the sentence as one of the same rule of an owner: of the rule "etcd-prefix" for the owner "a" it is "a-etcd-prefix".
func (s Sentence) For(owner string) Sentence {
	return Sentence{rule: owner + "-" + s.rule, text: s.text}
}

// Detail returns the text, as field.Error.Detail has it.
func (s Sentence) Detail(args ...any) string { return fmt.Sprintf(s.text, args...) }

// Invalid returns the error that a field has a wrong value.
func (s Sentence) Invalid(at *field.Path, value any, args ...any) *field.Error {
	return field.Invalid(at, value, s.Detail(args...)).WithOrigin(s.rule)
}

// Required returns the error that a field has no value.
func (s Sentence) Required(at *field.Path, args ...any) *field.Error {
	return field.Required(at, s.Detail(args...)).WithOrigin(s.rule)
}

// Forbidden returns the error about a field whose value the message does not show.
func (s Sentence) Forbidden(at *field.Path, args ...any) *field.Error {
	return field.Forbidden(at, s.Detail(args...)).WithOrigin(s.rule)
}

// Message returns the text followed by the identifier of the rule, which is how messages of admission policies end.
func (s Sentence) Message(args ...any) string { return s.tagged().Detail(args...) }

// MessageCEL returns Message as a CEL expression, as CEL does.
func (s Sentence) MessageCEL(before string, args ...string) string {
	return s.tagged().CEL(before, args...)
}

func (s Sentence) tagged() Sentence {
	return Sentence{rule: s.rule, text: s.text + " (" + s.rule + ")"}
}

// CEL returns the text as a CEL expression, after a beginning with verbs of its own. args are the CEL expressions of all verbs.
func (s Sentence) CEL(before string, args ...string) string {
	text := strings.ReplaceAll(before+s.text, "'", `\'`)
	if len(args) == 0 {
		return "'" + strings.ReplaceAll(text, "%%", "%") + "'"
	}
	return fmt.Sprintf("'%s'.format([%s])", text, strings.Join(args, ", "))
}
