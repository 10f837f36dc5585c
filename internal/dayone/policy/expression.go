package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// expression is a chain of steps; each works on what the one before found, the first on the live state.
type expression []step

// step picks or changes parts of a state.
type step struct {
	// path leads to the values meant. A path that begins with capture starts at that capture instead.
	path []string
	// op is "" to pick everything at the path, "==" to keep the entries with the operand, ":=" to set it.
	op string
	// operand is a constant, or a path that begins with capture.
	operand any
}

// reference is an operand that is found elsewhere.
type reference []string

// parseExpression reads an expression.
func parseExpression(text string) (expression, error) {
	var out expression
	parts, err := splitOutside(text, '|')
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		s, err := parseStep(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func parseStep(text string) (step, error) {
	at, op := strings.Index(text, "=="), "=="
	if set := strings.Index(text, ":="); set >= 0 && (at < 0 || set < at) {
		at, op = set, ":="
	}
	if at < 0 {
		path, err := parsePath(text)
		return step{path: path}, err
	}
	path, err := parsePath(text[:at])
	if err != nil {
		return step{}, err
	}
	if path[0] == "capture" {
		return step{}, fmt.Errorf("is %q; pipe the capture into a path instead: capture.NAME | PATH %s VALUE", text, op)
	}
	operand, err := parseOperand(strings.TrimSpace(text[at+len(op):]))
	return step{path: path, op: op, operand: operand}, err
}

// parseOperand reads a quoted text, a number, a boolean or a path to a capture.
func parseOperand(text string) (any, error) {
	switch {
	case text == "":
		return nil, errors.New("has no value after its operator")
	case len(text) > 1 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0]:
		return text[1 : len(text)-1], nil
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

// parsePath reads names with dots between them.
func parsePath(text string) ([]string, error) {
	path := strings.Split(strings.TrimSpace(text), ".")
	for _, name := range path {
		if name == "" || strings.ContainsAny(name, " \t\n\"'=:|{}") {
			return nil, fmt.Errorf("has %q where a path such as interfaces.name is wanted", text)
		}
	}
	if !slices.Contains([]string{"interfaces", "routes", "route-rules", "dns-resolver", "capture", "hostname", "ovs-db", "ovn"}, path[0]) {
		return nil, fmt.Errorf("begins with %q; the live state has interfaces, routes, route-rules and dns-resolver", path[0])
	}
	if path[0] == "capture" && len(path) < 2 {
		return nil, errors.New("has capture without the name of one")
	}
	return path, nil
}

// splitOutside splits text at a character that is not in quotes.
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
