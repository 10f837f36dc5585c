package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expression is a chain of steps. Each step processes the result of the previous one, the first the live state.
type expression []step

// The operators of a step.
const (
	opPick  = ""   // keep everything at the path
	opEqual = "==" // keep the entries with the operand
	opMatch = "=~" // keep the entries with a text that matches the operand, a regular expression
	opSet   = ":=" // set the operand; null removes the key
)

// step selects or changes parts of a state.
type step struct {
	// path is the path of the values. The path [capture NAME] starts at that capture.
	path []string
	op   string
	// operand is a constant, a path that begins with capture, or a regular expression.
	operand any
}

// reference is an operand that refers to a capture.
type reference []string

// parseExpression reads an expression.
func parseExpression(text string) (expression, error) {
	var out expression
	parts, err := splitOutside(text, '|')
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		steps, err := parseSteps(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, steps...)
	}
	return out, nil
}

// parseSteps reads one part of a pipe. A capture on the left with a path below it is two steps: capture.x.PATH is
// capture.x | PATH.
func parseSteps(text string) ([]step, error) {
	left, op, right := cutOperator(text)
	path, err := parsePath(left)
	if err != nil {
		return nil, err
	}
	var out []step
	if path[0] == "capture" {
		out = append(out, step{path: path[:2]})
		if path = path[2:]; len(path) == 0 {
			if op != opPick {
				return nil, fmt.Errorf("has the capture %s without a path below it on the left of %s; write capture.%s.interfaces.name %s VALUE", out[0].path[1], op, out[0].path[1], op)
			}
			return out, nil
		}
		if err := checkRoot(path[0]); err != nil {
			return nil, err
		}
	}
	for _, name := range path {
		if _, err := strconv.Atoi(name); err == nil {
			return nil, fmt.Errorf("has the number %s on the left; entries of lists are chosen by their values, and numbers are for references", name)
		}
	}
	s := step{path: path, op: op}
	if op != opPick {
		if s.operand, err = parseOperand(op, strings.TrimSpace(right)); err != nil {
			return nil, err
		}
	}
	return append(out, s), nil
}

// cutOperator splits a text at its first operator outside of quotes; without one, left is the whole text.
func cutOperator(text string) (left, op, right string) {
	first := len(text)
	for _, known := range []string{opEqual, opMatch, opSet} {
		if at := strings.Index(text, known); at >= 0 && at < first {
			first, op = at, known
		}
	}
	if op == opPick {
		return text, op, ""
	}
	return text[:first], op, text[first+len(op):]
}

// parseOperand parses a quoted text, a number, a boolean, null or a path to a capture.
func parseOperand(op, text string) (any, error) {
	quoted := len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]
	switch {
	case text == "":
		return nil, errors.New("has no value after its operator")
	case op == opMatch && !quoted:
		return nil, fmt.Errorf("matches %s; put the regular expression in quotes", text)
	case op == opMatch:
		pattern, err := regexp.Compile(text[1 : len(text)-1])
		if err != nil {
			return nil, fmt.Errorf("has a regular expression that cannot be read: %w", err)
		}
		return pattern, nil
	case quoted:
		return text[1 : len(text)-1], nil
	case strings.EqualFold(text, "null") && op == opSet:
		return nil, nil
	case strings.EqualFold(text, "null"):
		return nil, errors.New("compares with null, which matches nothing; null is for := and removes the key")
	case text == "true" || text == "false":
		return text == "true", nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	path, err := parsePath(text)
	if err != nil || path[0] != "capture" {
		return nil, fmt.Errorf("compares with %s; put text in quotes", text)
	}
	return reference(path), nil
}

// parsePath parses names that are separated by dots.
func parsePath(text string) ([]string, error) {
	path := strings.Split(strings.TrimSpace(text), ".")
	for _, name := range path {
		if name == "" || strings.ContainsAny(name, " \t\n\"'=:|{}") {
			return nil, fmt.Errorf("has %q where a path such as interfaces.name is wanted", text)
		}
	}
	if err := checkRoot(path[0]); path[0] != "capture" && err != nil {
		return nil, err
	}
	if path[0] == "capture" && len(path) < 2 {
		return nil, errors.New("has capture without the name of one")
	}
	return path, nil
}

// checkRoot refuses paths whose first name is not a key of a live state.
func checkRoot(name string) error {
	if !slices.Contains([]string{"interfaces", "routes", "route-rules", "dns-resolver", "hostname", "ovs-db", "ovn"}, name) {
		return fmt.Errorf("begins with %q; the live state has interfaces, routes, route-rules and dns-resolver", name)
	}
	return nil
}

// splitOutside splits text at a character outside of quotes.
func splitOutside(text string, at rune) (parts []string, err error) {
	quote, start := rune(0), 0
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == at:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	if quote != 0 {
		return nil, errors.New("has a quote that is not closed")
	}
	return append(parts, text[start:]), nil
}

// captures returns the names of the captures that the expression refers to.
func (e expression) captures() (names []string) {
	for _, s := range e {
		if s.path[0] == "capture" {
			names = append(names, s.path[1])
		}
		if r, ok := s.operand.(reference); ok {
			names = append(names, r[1])
		}
	}
	return names
}
