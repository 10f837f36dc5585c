// Package rules is the table of what the API server and the operator refuse: the sentence of each rule stands here once. The CRDs get the
// rules that CEL can express from it (hack/mkcrds), the admission policies and the Go checks their texts.
package rules

import (
	"slices"
	"strings"
)

// Rule is a rule that CEL can express, at its places in the CRDs.
type Rule struct {
	// Sentence is the message, with the identifier of the rule.
	Sentence Sentence
	// At are the places of the schema: the kind and the path of the value that the rule is about (self in the expressions),
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
	// Args are the CEL expressions of the sentence's verbs. A sentence without value and verbs is the message as it is.
	Args []string
	// Message is the CEL expression of the whole message, where there are several sentences, or one for each element of a list. It is made of
	// Sentence.CEL.
	Message string
}

// All returns all rules, in the order in which a place of the schema has them. The caller must not change them.
func All() []Rule {
	return slices.Concat(network, settings, flannelRules, egressrouter, hostnetwork, operatorpki, openshiftsdn)
}

// Expression returns the CEL expression of the message; empty if the message is fixed (Fixed).
func (r Rule) Expression() string {
	switch {
	case r.Message != "":
		return oneLine(r.Message)
	case r.Text != "":
		return oneLine(r.Sentence.CEL(`"%s" `, append([]string{r.Text}, r.Args...)...))
	case r.Number != "":
		return oneLine(r.Sentence.CEL("%d ", append([]string{r.Number}, r.Args...)...))
	case len(r.Args) == 0:
		return ""
	}
	return oneLine(r.Sentence.CEL("", r.Args...))
}

// Fixed returns the message that is the same for all values; empty if there is an Expression.
func (r Rule) Fixed() string {
	if r.Expression() != "" {
		return ""
	}
	return r.Sentence.Detail()
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
