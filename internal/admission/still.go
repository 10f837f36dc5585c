package admission

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// judgedElsewhere are fields whose changes during a change of the MTU have problems of their own, and the settings of
// networks that are not in use, which are invalid.
var judgedElsewhere = []string{"spec.clusterNetwork", "spec.serviceNetwork", "spec.migration", "spec.defaultNetwork"}

// still returns the fields that have to stay as they are during a change of the MTU and that no other rule holds fast:
// those whose change is not live.
func still(fields []provider.Field) []provider.Leaf {
	var all []provider.Leaf
	for _, f := range fields {
		if f.Class == provider.Live || f.Fixed != "" && len(f.Choice) == 0 || slices.Contains(judgedElsewhere, f.Path) {
			continue
		}
		all = append(all, f.Leaves(fields)...)
	}
	// A key of a map is compared with the whole map.
	return slices.DeleteFunc(all, func(l provider.Leaf) bool {
		return slices.ContainsFunc(all, func(above provider.Leaf) bool { return above.Path != l.Path && provider.Within(l.Path, above.Path) })
	})
}

// nothingElse adds the problem that something else changes during a change of the MTU, for the fields that a kind has.
func (p *problems) nothingElse(fields []provider.Field, has has) {
	for _, l := range still(fields) {
		if !has(l) {
			continue
		}
		switch l.Form {
		case provider.Opaque:
			p.opaque(l)
		case provider.Lists:
			p.lists(l)
		default:
			name := variable(l.Path)
			p.variable(name, fmt.Sprintf("%[1]s == '' ? %[2]s : %[1]s", text(l), applied(l.Path+leftOut)))
			p.changed(l.Path, l.Path, "variables."+name, "!variables.moving || !variables.own"+unused(fields, l.Path), rules.DuringMigration)
		}
	}
}

// unused is the end of an expression for whether a field belongs to a choice that an object does not make; empty for other
// fields.
func unused(fields []provider.Field, path string) string {
	for _, f := range fields {
		for _, name := range f.Choice {
			if provider.Within(path, f.Path+"."+name) {
				return fmt.Sprintf(" || !%s.hasValue()", at(f.Path+"."+name))
			}
		}
	}
	return ""
}

// opaque compares what has no text with what the object was before.
func (p *problems) opaque(l provider.Leaf) {
	old := "oldObject" + at(l.Path)[len("object"):]
	p.problem(fmt.Sprintf("variables.moving && variables.own && oldObject != null && %s != %s", at(l.Path), old),
		fmt.Sprintf("%q", l.Path+": "+ending(rules.DuringMigration)))
}

// lists compares the lists of a map by their names, in any order. One that is left out, or is empty, may be filled in.
func (p *problems) lists(l provider.Leaf) {
	name, all := variable(l.Path), at(l.Path)+".orValue({})"
	lines := func(key string) string { return applied(key) + `.split('\n').filter(a, a != '')` }
	p.variable(name+"_leftOut", lines(l.Path+leftOut))
	p.variable(name+"_before", lines(l.Path))
	p.variable(name, fmt.Sprintf("%[1]s.map(k, k + '=' + %[1]s[k].join(',')).filter(a, !(a.endsWith('=') && variables.%[2]s_leftOut.exists(o, o.startsWith(a))))", all, name))
	p.problem(fmt.Sprintf("%[2]q in params.data && variables.moving && variables.own && !(variables.%[1]s.all(a, a in variables.%[1]s_before) && variables.%[1]s_before.all(b, b in variables.%[1]s || "+
		"b in variables.%[1]s_leftOut && !variables.%[1]s.exists(a, a.startsWith(b.split('=')[0] + '='))))", name, l.Path),
		fmt.Sprintf("%q + variables.%[2]s_before.join(' ') + '\" -> \"' + variables.%[2]s.join(' ') + %[3]q", l.Path+": \"", name, "\": "+ending(rules.DuringMigration)))
}
