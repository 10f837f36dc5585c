package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Refusal is one error in a specification, or in a change of the applied one.
type Refusal struct {
	// Field is the path of the field, for example spec.clusterNetwork[0].cidr.
	Field string `json:"field"`
	// Old is the applied value, only for changes. New is the refused value. Both are nil if there is no such value;
	// otherwise they have the types into which encoding/json decodes any JSON.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
	// Rule is the identifier of the violated rule. It never changes: tools may rely on it.
	Rule string `json:"rule"`
	// Message describes the error, the allowed values and the remedy. It does not repeat the field.
	Message string `json:"message"`
	// Acknowledge is the hash that acknowledges all changes together; empty if they cannot be acknowledged.
	Acknowledge string `json:"acknowledge,omitempty"`
}

// String returns the field, the old and new values of a change, the message and the rule.
func (r Refusal) String() string {
	values := ""
	if old, updated := valueText(r.Old), valueText(r.New); r.Old != nil && r.New != nil && !r.names(old, updated) {
		values = old + " -> " + updated + ": "
	}
	return fmt.Sprintf("%s: %s%s (%s)", r.Field, values, r.Message, r.Rule)
}

// names reports whether the message contains all values.
func (r Refusal) names(values ...string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !strings.Contains(r.Message, strings.Trim(v, `"`)) })
}

// Refusals are all errors in a specification or a change, at least one.
type Refusals []Refusal

// Error joins all refusals in one line, with the way to acknowledge them if there is one.
func (r Refusals) Error() string {
	lines := make([]string, len(r))
	for i, one := range r {
		lines[i] = one.String()
	}
	text := strings.Join(lines, "; ")
	if hash := r.Acknowledge(); hash != "" {
		text += fmt.Sprintf("; to make the change and accept the disruption, acknowledge it with the annotation %s=%s", AcknowledgeAnnotation, hash)
	}
	return text
}

// Acknowledge returns the hash that acknowledges all changes together, or "" if one is refused in any case.
func (r Refusals) Acknowledge() string {
	if len(r) == 0 {
		return ""
	}
	return r[0].Acknowledge
}

// Has reports whether a rule is violated.
func (r Refusals) Has(rule string) bool {
	return slices.ContainsFunc(r, func(one Refusal) bool { return one.Rule == rule })
}

// RefusalsOf returns the refusals that an error holds, or nil if the specification is not the cause.
func RefusalsOf(err error) Refusals {
	r, _ := errors.AsType[Refusals](err)
	return r
}

// defaultRule returns the rule of a field error that names none.
func defaultRule(t field.ErrorType) string {
	switch t {
	case field.ErrorTypeRequired:
		return "required"
	case field.ErrorTypeForbidden:
		return "forbidden"
	case field.ErrorTypeNotSupported:
		return "unsupported"
	case field.ErrorTypeDuplicate:
		return "duplicate"
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return "too-many"
	}
	return "invalid"
}

// refusals converts field errors into refusals in their order, without duplicates. It returns nil for none.
func refusals(errs field.ErrorList, old, updated lookup) Refusals {
	var out Refusals
	for _, e := range errs {
		r := Refusal{Field: e.Field, Rule: e.Origin, New: updated.value(e.Field), Old: old.value(e.Field), Message: Message(e)}
		if r.Rule == "" {
			r.Rule = defaultRule(e.Type)
		}
		if r.New == nil && hasValue(e) {
			r.New = plain(e.BadValue)
		}
		if old.root != nil {
			r.Message = changeMessage(e, r)
		}
		if !slices.ContainsFunc(out, func(o Refusal) bool { return o.Field == r.Field && o.Rule == r.Rule && o.Message == r.Message }) {
			out = append(out, r)
		}
	}
	return out
}

// Message returns the detail of a field error, preceded by the value if the detail does not contain it.
func Message(e *field.Error) string {
	detail := e.Detail
	if detail == "" {
		detail = "is refused: " + strings.ToLower(e.Type.String())
	}
	if !hasValue(e) {
		return detail
	}
	if text := valueText(e.BadValue); !names(detail, text) {
		return text + " " + detail
	}
	return detail
}

// changeMessage returns the detail of a field error about a change, preceded by both values if they are scalars and
// the detail does not contain the old one.
func changeMessage(e *field.Error, r Refusal) string {
	if e.Detail == "" {
		return Message(e)
	}
	before, after := valueText(r.Old), valueText(r.New)
	if r.Old == nil && r.New == nil || !simple(r.Old) || !simple(r.New) || names(e.Detail, before) {
		return e.Detail
	}
	return before + " -> " + after + ": " + e.Detail
}

func simple(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// names reports whether a sentence contains a value as a separate word.
func names(sentence, value string) bool {
	bare := strings.Trim(value, `"`)
	return bare != "" && regexp.MustCompile(`(^|[^\w./-])`+regexp.QuoteMeta(bare)+`($|[^\w/-])`).MatchString(sentence)
}

// hasValue reports whether the value of a field error is meaningful: it is not if the field is missing or must not be
// set at all.
func hasValue(e *field.Error) bool {
	switch e.Type {
	case field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeInternal:
		return false
	}
	return plain(e.BadValue) != nil
}

// valueText formats a value as JSON, truncated to 80 bytes.
func valueText(v any) string {
	switch v := plain(v).(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.Quote(shorten(v))
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return shorten(fmt.Sprint(v))
		}
		return shorten(string(raw))
	}
}

func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// plain returns a value as encoding/json decodes it after encoding: without pointers, named types and structs.
// It returns nil for a value that JSON cannot represent.
func plain(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil
	}
	return out
}
