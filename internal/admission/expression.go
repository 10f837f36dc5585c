package admission

import (
	"fmt"
	"regexp"
	"strings"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// has says whether a kind has a field of the specification of a Network, in the same form.
type has func(provider.Leaf) bool

// network has all of them.
func network(provider.Leaf) bool { return true }

// short is NetworkConfig, which has some.
func short() has {
	own := map[string]provider.Form{}
	for _, l := range provider.LeavesOf[networkoperatorv1.NetworkConfigSpec]() {
		own[l.Path] = l.Form
	}
	return func(l provider.Leaf) bool {
		if own[l.Path] == l.Form {
			return true
		}
		above := l.Path[:strings.LastIndex(l.Path, ".")]
		return own[above] == provider.Lists
	}
}

var (
	identifier = regexp.MustCompile("^[A-Za-z_][A-Za-z0-9_]*$")
	noName     = regexp.MustCompile("[^A-Za-z0-9_]")
)

// at is an expression for a field of the object, which is none where a field above it is not set.
func at(path string) string {
	var out strings.Builder
	out.WriteString("object")
	for _, name := range strings.Split(path, ".") {
		if identifier.MatchString(name) {
			out.WriteString(".?" + name)
			continue
		}
		fmt.Fprintf(&out, "[?%q]", name)
	}
	return out.String()
}

// variable is the name of the variable that has the value of a field.
func variable(path string) string {
	return noName.ReplaceAllString(strings.TrimPrefix(path, "spec."), "_")
}

// single is an expression for the text of a single value; empty if it has none.
func single(path string) string { return fmt.Sprintf("string(%s.orValue(''))", at(path)) }

// text is an expression for the text of a field in the object, as Leaf.Text writes it of a specification.
func text(l provider.Leaf) string {
	switch l.Form {
	case provider.List:
		return at(l.Path) + ".orValue([]).map(e, string(e)).join(',')"
	case provider.Rows:
		columns := make([]string, len(l.Columns))
		for i, name := range l.Columns {
			columns[i] = fmt.Sprintf("string(e.?%s.orValue(''))", name)
		}
		return fmt.Sprintf("%s.orValue([]).map(e, [%s].join(' ')).join(',')", at(l.Path), strings.Join(columns, ", "))
	}
	return single(l.Path)
}

// param is an expression for a value of the NetworkGuard.
func param(key string) string { return fmt.Sprintf("params.data[%q]", key) }

// quoted is an expression for a text that is known when the policy is written.
func quoted(text string) string { return fmt.Sprintf("%q", text) }
