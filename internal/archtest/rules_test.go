package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const rulesDir = "api/rules"

// sentence is a call of rules.New.
type sentence struct {
	where      token.Position
	variable   string // with its package; empty if the sentence is a rule of a CRD alone, and is in it
	rule, text string
}

var verbs = regexp.MustCompile(`%[a-z]`)

// constants are the string constants of all packages, by directory and name.
func constants(files []file) map[string]string {
	out := map[string]string{}
	for range 3 { // constants that consist of others need a second time, and a third
		for _, f := range files {
			for _, d := range f.ast.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.CONST {
					continue
				}
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					for i, name := range v.Names {
						if i < len(v.Values) {
							if text, ok := textOf(v.Values[i], f.dir, out); ok {
								out[f.dir+"."+name.Name] = text
							}
						}
					}
				}
			}
		}
	}
	return out
}

// textOf evaluates a constant expression of strings.
func textOf(e ast.Expr, dir string, known map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return textOf(e.X, dir, known)
	case *ast.BinaryExpr:
		a, ok := textOf(e.X, dir, known)
		b, also := textOf(e.Y, dir, known)
		return a + b, ok && also && e.Op == token.ADD
	case *ast.Ident:
		text, ok := known[dir+"."+e.Name]
		return text, ok
	}
	return "", false
}

// sentences returns every sentence of the tree. The text of each, and the identifier of its rule, is a constant.
func sentences(t *testing.T, set *token.FileSet, files []file, known map[string]string) []sentence {
	t.Helper()
	var all []sentence
	for _, f := range files {
		if f.path == "internal/provider/change.go" || f.path == rulesDir+"/sentence.go" {
			continue // the first makes sentences of the table of fields, the second is the type
		}
		variables := map[ast.Expr]string{}
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, s := range g.Specs {
					for i, value := range s.(*ast.ValueSpec).Values {
						variables[value] = f.dir + "." + s.(*ast.ValueSpec).Names[i].Name
					}
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isNew(call.Fun, f.dir) {
				return true
			}
			where := set.Position(call.Pos())
			rule, ok := textOf(call.Args[0], f.dir, known)
			text, also := textOf(call.Args[1], f.dir, known)
			if !ok || !also {
				t.Errorf("%s: the identifier and the text of a sentence are constants", where)
			}
			if variables[call] == "" && f.dir != rulesDir {
				t.Errorf("%s: a sentence is a variable of its package", where)
			}
			all = append(all, sentence{where, variables[call], rule, text})
			return true
		})
	}
	return all
}

// isNew reports whether an expression is the function rules.New.
func isNew(e ast.Expr, dir string) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return isPackage(s.X, "rules") && s.Sel.Name == "New"
	}
	return dir == rulesDir && isPackage(e, "New")
}

// TestEveryRuleIsWrittenOnce: no sentence is written twice; a sentence of two rules is shared.
func TestEveryRuleIsWrittenOnce(t *testing.T) {
	set, files := sources(t)
	seen := map[string]sentence{}
	for _, s := range sentences(t, set, files, constants(files)) {
		if other, ok := seen[s.rule+s.text]; ok {
			t.Errorf("%s: the sentence of rule %s stands at %s, too", s.where, s.rule, other.where)
		}
		seen[s.rule+s.text] = s
	}
	if len(seen) < 200 {
		t.Errorf("only %d sentences are found", len(seen))
	}
}

// named are identifiers of rules that have no sentence, with the reason.
var named = map[string]string{
	"network-attachment-definition": "the parser of definitions makes the messages, each with line and column",
	"network-selection":             "the parser of the annotation makes the messages",
	"whereabouts-config":            "the parser of the configuration makes the messages",
	"unknown-field":                 "the schema of a CRD is the rule",
	"type":                          "the schema of a CRD is the rule",
	"metadata":                      "the API server's own validation makes the messages",
	"schema":                        "the schema of a CRD is the rule",
}

// fixed is the field of a row of the table of fields (provider.Field) that names the rule of its messages.
const fixed = "Fixed"

// ruleAtEnd matches a text that ends like the message of an admission policy: with the identifier of a rule.
var ruleAtEnd = regexp.MustCompile(`\([a-z0-9]+(-[a-z0-9]+)+\)\W*$`)

// TestMessagesOfPoliciesAreSentences: admission policies have their messages from the table of sentences, by Sentence.Message and MessageCEL.
func TestMessagesOfPoliciesAreSentences(t *testing.T) {
	set, files := sources(t)
	for _, f := range files {
		if !slices.Contains(imports(f.ast), "k8s.io/api/admissionregistration/v1") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && ruleAtEnd.MatchString(lit.Value) {
				t.Errorf("%s: the message of a rule is a sentence of %s: %s", set.Position(lit.Pos()), rulesDir, lit.Value)
			}
			return true
		})
	}
	for text, want := range map[string]bool{
		`"must not be deleted (deletion-in-use)'"`: true, "`a (own-pods)`": true, `"of the cluster (see docs)"`: false, `"(a-b) is not it"`: false,
	} {
		if ruleAtEnd.MatchString(text) != want {
			t.Errorf("%s ends with the identifier of a rule: %t, want %t", text, !want, want)
		}
	}
}

// TestEveryRuleHasASentenceThatIsUsed walks all Go code: an identifier of a rule has a row in the table of sentences or in that of fields; each sentence is used with as many arguments as it has verbs; and only a Sentence makes the errors of rules.
func TestEveryRuleHasASentenceThatIsUsed(t *testing.T) {
	set, files := sources(t)
	known := constants(files)
	all := sentences(t, set, files, known)
	rows, byVariable := map[string]bool{}, map[string]sentence{}
	for _, s := range all {
		rows[s.rule] = true
		if s.variable != "" {
			byVariable[s.variable] = s
		}
	}
	used := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				for rule := range rulesOfTable(n, f.dir, known) {
					rows[rule] = true
				}
			case *ast.SelectorExpr:
				if isPackage(n.X, "rules") {
					used[rulesDir+"."+n.Sel.Name] = true
				}
				if n.Sel.Name == "WithOrigin" && f.dir != rulesDir && !ownOrigin(f.dir) {
					t.Errorf("%s: only a sentence (api/rules) has the rule of an error", set.Position(n.Pos()))
				}
			case *ast.CallExpr:
				checkArguments(t, set, n, f.dir, byVariable)
			}
			return true
		})
		markLocal(f, byVariable, used)
	}
	for variable, s := range byVariable {
		if !used[variable] {
			t.Errorf("%s: no code uses the sentence %s of rule %s", s.where, variable, s.rule)
		}
	}
	ruleName := regexp.MustCompile(`^[^.]*\.[rR]ule([A-Z]\w*)?$`)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		dir := name[:strings.LastIndex(name, ".")]
		if rule := known[name]; ruleName.MatchString(name[strings.LastIndex(name, "/")+1:]) && !strings.HasPrefix(dir, "internal/dayone") && !rows[rule] && named[rule] == "" {
			t.Errorf("%s: rule %q has no sentence", name, rule)
		}
	}
}

// ownOrigin reports whether the code of a directory gives errors a rule of named.
func ownOrigin(dir string) bool {
	return dir == "internal/crdcheck" || dir == "internal/offline" || strings.HasPrefix(dir, "internal/multinet/")
}

// rulesOfTable are the identifiers in a row of a table.
func rulesOfTable(n *ast.CompositeLit, dir string, known map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.Ident)
		if !ok {
			continue
		}
		if key.Name == fixed {
			if text, ok := textOf(kv.Value, dir, known); ok {
				out[text] = true
			}
		}
	}
	return out
}

// leading are the arguments of the methods of Sentence before those of the text.
var leading = map[string]int{"Detail": 0, "Required": 1, "Forbidden": 1, "Invalid": 2, "CEL": 1, "Message": 0, "MessageCEL": 1}

// checkArguments compares the arguments of a call of a sentence's method with the verbs.
func checkArguments(t *testing.T, set *token.FileSet, call *ast.CallExpr, dir string, byVariable map[string]sentence) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || call.Ellipsis.IsValid() {
		return
	}
	first, ok := leading[method.Sel.Name]
	if !ok {
		return
	}
	on := method.X
	if forOwner, ok := on.(*ast.CallExpr); ok {
		if s, ok := forOwner.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "For" {
			on = s.X
		}
	}
	name := ""
	switch on := on.(type) {
	case *ast.SelectorExpr:
		if isPackage(on.X, "rules") {
			name = rulesDir + "." + on.Sel.Name
		}
	case *ast.Ident:
		name = dir + "." + on.Name
	}
	s, ok := byVariable[name]
	if !ok {
		return
	}
	want := len(verbs.FindAllString(strings.ReplaceAll(s.text, "%%", ""), -1))
	if method.Sel.Name == "CEL" || method.Sel.Name == "MessageCEL" {
		before, _ := textOf(call.Args[0], dir, nil)
		want += len(verbs.FindAllString(before, -1))
	}
	if got := len(call.Args) - first; got != want {
		t.Errorf("%s: %d arguments for %q, which takes %d", set.Position(call.Pos()), got, s.text, want)
	}
}

// markLocal notes the sentences of a package that its own code uses.
func markLocal(f file, byVariable map[string]sentence, used map[string]bool) {
	for _, d := range f.ast.Decls {
		g, isVar := d.(*ast.GenDecl)
		ast.Inspect(d, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && isVar && g.Tok == token.VAR {
				for _, v := range spec.Values {
					ast.Inspect(v, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							used[f.dir+"."+id.Name] = true
						}
						return true
					})
				}
				return false
			}
			if id, ok := n.(*ast.Ident); ok {
				used[f.dir+"."+id.Name] = true
			}
			return true
		})
	}
}
