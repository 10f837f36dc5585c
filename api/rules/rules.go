// Package rules is the validation rules of the CRDs: what CEL checks, where, and the sentence of the message, as data.
// hack/mkcrds writes them into the CRDs. A rule that the operator checks too has the same identifier there, and takes
// its sentence from here with Detail.
package rules

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one validation rule.
type Rule struct {
	// ID is its identifier, which several rules may share: that of the operator's own check, where there is one. It never
	// changes.
	ID string
	// At are the places of the schema that have the rule: a kind and, after a space, a path from the root of the object,
	// with [] after a list. A kind alone is the object itself.
	At []string
	// Field is the path, from the place, of the field that a violation is reported for; empty is the place.
	Field string
	// Valid is the CEL expression that is true for a valid value. Here and in the other expressions, white space counts as
	// one space.
	Valid string
	// Text and Number are the CEL expression of the value that begins the message: in quotes, or as a number. At most one
	// of them is set; neither means that the message begins with the sentence.
	Text, Number string
	// Sentence follows the value: what is wrong and what to do. Its verbs (%s, %d) have the same meaning in CEL and in Go.
	Sentence string
	// Args are the CEL expressions of the verbs. A sentence without value and verbs is the message as it is.
	Args []string
	// Message is the CEL expression of the whole message, in place of a sentence, where there are several, or one for each
	// element of a list.
	Message string
}

// All returns all rules, in the order in which a place of the schema has them. The caller must not change them.
func All() []Rule {
	return slices.Concat(network, settings, flannelRules, egressrouter, hostnetwork, operatorpki, openshiftsdn)
}

// Detail returns the sentence of the rule with an identifier, as field.Error.Detail takes it: without the value. It
// panics if there is not exactly one rule with a sentence, or the number of arguments is wrong: tests call each use.
func Detail(id string, args ...any) string {
	var found []Rule
	for _, r := range All() {
		if r.ID == id && r.Sentence != "" {
			found = append(found, r)
		}
	}
	if len(found) == 0 || slices.ContainsFunc(found, func(r Rule) bool { return r.Sentence != found[0].Sentence }) {
		panic(fmt.Sprintf("rule %s has no single sentence", id))
	}
	if len(args) != len(found[0].Args) {
		panic(fmt.Sprintf("the sentence of rule %s takes %d arguments, not %d", id, len(found[0].Args), len(args)))
	}
	return fmt.Sprintf(found[0].Sentence, args...)
}

// Expression returns the CEL expression of the message; empty if the message is fixed (Fixed).
func (r Rule) Expression() string {
	if r.Message != "" {
		return oneLine(r.Message)
	}
	format, args := r.Sentence, r.Args
	switch {
	case r.Text != "":
		format, args = `"%s" `+format, append([]string{r.Text}, args...)
	case r.Number != "":
		format, args = "%d "+format, append([]string{r.Number}, args...)
	case len(args) == 0:
		return ""
	}
	return fmt.Sprintf("'%s'.format([%s])", strings.ReplaceAll(format, "'", `\'`), oneLine(strings.Join(args, ", ")))
}

// Fixed returns the message that is the same for all values; empty if there is an Expression.
func (r Rule) Fixed() string {
	if r.Expression() != "" {
		return ""
	}
	return r.Sentence
}

// Condition returns Valid in one line.
func (r Rule) Condition() string { return oneLine(r.Valid) }

func oneLine(expression string) string { return strings.Join(strings.Fields(expression), " ") }

// both are places of a Network and of its short form.
func both(paths ...string) []string {
	var all []string
	for _, kind := range []string{"NetworkConfig ", "Network "} {
		for _, path := range paths {
			all = append(all, kind+path)
		}
	}
	return all
}

// flannel are places below flannel's settings, in a Network and in its short form.
func flannel(paths ...string) []string {
	full := make([]string, len(paths))
	for i, path := range paths {
		full[i] = "spec.defaultNetwork.flannelConfig" + path
	}
	return both(full...)
}
