package admission

import (
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// checkedElsewhere are fields that have their own rules for changes during an MTU migration, and the settings of networks
// that are not in use, which are invalid.
var checkedElsewhere = []string{"spec.clusterNetwork", "spec.serviceNetwork", "spec.migration", "spec.defaultNetwork"}

// frozen returns the fields that must not change during an MTU migration and that no other rule covers: those whose change
// is not live.
func frozen(fields []provider.Field) []provider.Leaf {
	var all []provider.Leaf
	for _, f := range fields {
		if f.Class == provider.Live || f.Fixed != "" && len(f.Choice) == 0 || slices.Contains(checkedElsewhere, f.Path) {
			continue
		}
		all = append(all, f.Leaves(fields)...)
	}
	// A key of a map is compared with the whole map.
	return slices.DeleteFunc(all, func(l provider.Leaf) bool {
		return slices.ContainsFunc(all, func(above provider.Leaf) bool { return above.Path != l.Path && provider.Within(l.Path, above.Path) })
	})
}

// nothingElse adds the problem that another field changes during an MTU migration, for the fields that a kind has.
func (p *problems) nothingElse(fields []provider.Field, has has) {
	for _, l := range frozen(fields) {
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

// unused returns the end of an expression for whether a field belongs to a choice that an object does not make; "" for
// other fields.
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

// opaque compares a field without text with that of the old object.
func (p *problems) opaque(l provider.Leaf) {
	old := "oldObject" + at(l.Path)[len("object"):]
	p.problem(fmt.Sprintf("variables.moving && variables.own && oldObject != null && %s != %s", at(l.Path), old),
		fmt.Sprintf("%q", l.Path+": "+ending(rules.DuringMigration)))
}

// lists compares the lists of a map by their names, in any order. One that is omitted or empty may be filled in.
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
