package provider

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
)

// The ways out of a refused change, with which each message ends.
const (
	PutBack = "put the old value back"
	// Force is the way out of a change that cannot be acknowledged.
	Force = "or force the change as docs/safety.md describes"
)

// CheckFields returns an error for every change from prev to next, both filled, of a field with a rule in Fixed. Functions
// of providers check the changes that the table cannot express.
func CheckFields(prev, next *operatorv1.NetworkSpec, fields []Field) field.ErrorList {
	var errs field.ErrorList
	before, after := ValuesOf(prev), ValuesOf(next)
	for _, f := range fields {
		if f.Fixed == "" || f.Class == Migration && announced(next) {
			continue
		}
		if len(f.Choice) > 0 {
			errs = append(errs, f.checkChoice(before, after)...)
			continue
		}
		for _, l := range f.Leaves(fields) {
			errs = append(errs, f.checkLeaf(l, before, after)...)
		}
	}
	return errs
}

// announced reports whether a specification requests an MTU migration with both MTUs. One without both is invalid.
func announced(spec *operatorv1.NetworkSpec) bool {
	if spec == nil || spec.Migration == nil || spec.Migration.MTU == nil || spec.Migration.MTU.Network == nil {
		return false
	}
	return spec.Migration.MTU.Network.From != nil && spec.Migration.MTU.Network.To != nil
}

func (f Field) checkChoice(before, after Values) field.ErrorList {
	from, to := f.Chosen(before), f.Chosen(after)
	if from == to {
		return nil
	}
	why := rules.New(f.Fixed, "cannot change %s from %s to %s: %s%s")
	return field.ErrorList{why.Forbidden(path(f.Path).Child(to), f.subject(), from, to, f.Reason, f.wayOut())}
}

func (f Field) checkLeaf(l Leaf, before, after Values) field.ErrorList {
	from, to := cmp.Or(l.Text(before), f.LeftOut), cmp.Or(l.Text(after), f.LeftOut)
	if from == to || !f.Unset && (none(from) || none(to)) {
		return nil
	}
	value := after.value(l.Path)
	if value == nil {
		value = to
	}
	return field.ErrorList{f.Sentence(f.wayOut()).Invalid(path(l.Path), value)}
}

// Forbid returns the error of the rule Fixed for a change of the field that is found outside the table.
func (f Field) Forbid(at *field.Path) *field.Error { return f.Sentence(f.wayOut()).Forbidden(at) }

// Sentence returns the refusal with a remedy, as a sentence of the rule Fixed.
func (f Field) Sentence(remedy string) rules.Sentence { return rules.New(f.Fixed, f.Refusal()+remedy) }

// none reports whether the text of a value is that of an omitted field: empty, or the number zero.
func none(text string) bool { return text == "" || text == "0" }

// Refusal returns the sentence of the rule Fixed: subject and reason, without a way out.
func (f Field) Refusal() string { return "cannot change " + f.subject() + ": " + f.Reason }

func (f Field) subject() string {
	return cmp.Or(f.Subject, f.Path[strings.LastIndex(f.Path, ".")+1:])
}

// wayOut returns the end of the message of a refused change. The pipeline adds how to acknowledge it, if that is possible.
func (f Field) wayOut() string {
	if f.Acknowledge {
		return "; " + PutBack
	}
	return "; " + PutBack + ", " + Force
}

// Chosen returns the field of Choice that values use: the first one, unless another one is set.
func (f Field) Chosen(v Values) string {
	for _, name := range f.Choice[1:] {
		if v.value(f.Path+"."+name) != nil {
			return name
		}
	}
	return f.Choice[0]
}

// FieldOf returns the entry of a table for a path without indexes: its own, or the nearest above it; the zero Field if
// there is none.
func FieldOf(fields []Field, path string) Field {
	var best Field
	for _, f := range fields {
		if Within(path, f.Path) && len(f.Path) > len(best.Path) {
			best = f
		}
	}
	return best
}

// Within reports whether a path without indexes equals above or is below it.
func Within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.')
}

// Leaves returns the fields that the entry covers: itself if it has no subfields, or else its subfields without a nearer
// entry in the table.
func (f Field) Leaves(fields []Field) []Leaf {
	return slices.DeleteFunc(LeavesBelow(f.Path), func(l Leaf) bool { return FieldOf(fields, l.Path).Path != f.Path })
}

// path returns a field path that prints as text.
func path(text string) *field.Path { return field.NewPath(text) }
