package admission

import (
	"fmt"
	"regexp"
	"strings"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// has reports whether a kind has a field of the specification of a Network in the same form.
type has func(provider.Leaf) bool

// network returns true: Network has all fields.
func network(provider.Leaf) bool { return true }

// short returns the function of NetworkConfig, which has some of the fields.
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

// at returns an expression for a field of the object as an optional, which is none if a field above it is not set.
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

// variable returns the name of the variable with the value of a field.
func variable(path string) string {
	return noName.ReplaceAllString(strings.TrimPrefix(path, "spec."), "_")
}

// single returns an expression for the text of a scalar value; the empty text if it is not set.
func single(path string) string { return fmt.Sprintf("string(%s.orValue(''))", at(path)) }

// text returns an expression for the text of a field in the object, in the format of Leaf.Text.
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

// param returns an expression for a value of the NetworkGuard.
func param(key string) string { return fmt.Sprintf("params.data[%q]", key) }

// quoted returns an expression for a constant text.
func quoted(text string) string { return fmt.Sprintf("%q", text) }
