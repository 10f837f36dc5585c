package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// problems are CEL expressions, each of which evaluates to the text of an error, or to an empty text.
type problems struct {
	variables []admissionv1.Variable
	texts     []string
}

// variable adds a variable, which other expressions use as variables.<name>.
func (p *problems) variable(name, expression string) {
	p.variables = append(p.variables, admissionv1.Variable{Name: name, Expression: expression})
}

// changed adds the problem that a value differs from the applied one. field is the path for users, key the key of the
// applied value, value an expression for the new one as text, unless a condition under which the change is allowed.
func (p *problems) changed(field, key, value, unless string, why rules.Sentence) {
	p.changedTo(field, key, value, unless, suffix(why))
}

// movable is like changed for a value that may change in some way, but not during an MTU migration, which then is the reason.
func (p *problems) movable(field, key, value, unless string, why rules.Sentence) {
	p.changedTo(field, key, value, unless, fmt.Sprintf("(variables.moving ? %s : %s)", suffix(rules.DuringMigration), suffix(why)))
}

// suffix returns the end of a problem's text as an expression.
func suffix(why rules.Sentence) string { return fmt.Sprintf("%q", "\": "+ending(why)) }

// ending returns a sentence without arguments and its rule.
func ending(s rules.Sentence) string { return fmt.Sprintf("%s (%s)", s.Detail(), s.Rule()) }

// sentence returns a CEL expression for a text, a sentence and its rule. args are the CEL expressions of the sentence's verbs.
func sentence(before string, s rules.Sentence, args ...string) string {
	return fmt.Sprintf("%s + %q", s.CEL(before, args...), " ("+s.Rule()+")")
}

// changedTo is like changed with an expression for the end of the text.
func (p *problems) changedTo(field, key, value, unless, end string) {
	p.problem(fmt.Sprintf("%[1]q in params.data && %[2]s != params.data[%[1]q] && !(%[3]s)", key, value, unless),
		fmt.Sprintf("%q + params.data[%q] + '\" -> \"' + %s + %s", field+": \"", key, value, end))
}

// problem adds a text for the case that a condition holds.
func (p *problems) problem(condition, text string) {
	p.texts = append(p.texts, condition+" ? "+text+" : ''")
}

const (
	putBack       = "; " + provider.PutBack
	orAcknowledge = ", or acknowledge the change with the annotation " + pipeline.AcknowledgeAnnotation + ", for which cno plan prints the hash"
)

// networkProblems returns those of Network/cluster.
func networkProblems(fields []provider.Field) problems {
	var p problems
	p.variable("cidrs", keeping("clusterNetwork", keyCIDRs, pools("object.?spec.?clusterNetwork", "e.cidr")))
	p.variable("hostPrefixes", keeping("clusterNetwork", keyHostPrefixes, "object.?spec.?clusterNetwork.orValue([]).map(e, string(e.?hostPrefix.orValue(0))).join(',')"))
	p.variable("services", keeping("serviceNetwork", keyServices, services("object.?spec.?serviceNetwork.orValue([])")))
	p.announcement("object.?spec.?migration.?mtu.hasValue()",
		"string(object.?spec.?migration.?mtu.?network.?from.orValue(''))", "string(object.?spec.?migration.?mtu.?network.?to.orValue(''))")
	p.pools("spec.clusterNetwork", "spec.clusterNetwork[].hostPrefix", "spec.serviceNetwork")
	p.fixed(fields, network)
	p.migration(fields)
	p.nothingElse(fields, network)
	p.unserved()
	return p
}

// shortProblems returns those of NetworkConfig/default.
func shortProblems(fields []provider.Field) problems {
	var p problems
	p.variable("cidrs", pools("object.?spec.?clusterNetworks", "e.cidr"))
	p.variable("hostPrefixes", "object.?spec.?clusterNetworks.orValue([]).map(e, string((cidr(e.cidr).ip().family() == 4 ? 32 : 128) - int(e.hostSubnetLength))).join(',')")
	p.variable("services", services("[object.?spec.?serviceNetwork.orValue('')]"))
	p.announcedElsewhere()
	p.pools("spec.clusterNetworks", "spec.clusterNetworks[].hostSubnetLength (as a prefix)", "spec.serviceNetwork")
	p.fixed(fields, short())
	p.fittingMTU(fields)
	p.unserved()
	p.nothingElse(fields, short())
	return p
}

// configProblems returns those of Network.config/cluster.
func configProblems(fields []provider.Field) problems {
	var p problems
	p.variable("cidrs", pools("object.?spec.?clusterNetwork", "e.cidr"))
	p.variable("hostPrefixes", "object.?spec.?clusterNetwork.orValue([]).map(e, string(e.?hostPrefix.orValue(0))).join(',')")
	p.variable("services", services("object.?spec.?serviceNetwork.orValue([])"))
	p.announcedElsewhere()
	p.pools("spec.clusterNetwork", "spec.clusterNetwork[].hostPrefix", "spec.serviceNetwork")
	p.variable("networkType", "object.?spec.?networkType.orValue('')")
	p.changed("spec.networkType", keyType, "variables.networkType",
		"variables.networkType.lowerAscii() == params.data['spec.defaultNetwork.type'].lowerAscii()", provider.FieldOf(fields, keyType).Sentence(putBack))
	return p
}

// keeping returns an expression for the applied value of a list that a specification omits, and for another value if it does not. An object
// without a specification keeps nothing.
func keeping(list, key, value string) string {
	return fmt.Sprintf("object.?spec.hasValue() && size(object.?spec.?%s.orValue([])) == 0 ? params.data[?%q].orValue('') : %s", list, key, value)
}

// pools returns an expression for networks without host bits, so that spelling does not matter.
func pools(list, cidr string) string {
	return fmt.Sprintf("%s.orValue([]).map(e, string(cidr(%s).masked())).join(',')", list, cidr)
}

func services(list string) string {
	return fmt.Sprintf("%s.map(s, string(cidr(s).masked())).join(',')", list)
}

// pools adds the problems of address pools. If the network can convert between single-stack and dual-stack, only the operator
// can check that. A pool that may grow gets a shorter prefix and keeps its base, and the first one stays the first; only the
// operator can check the hostPrefix of each of several pools.
func (p *problems) pools(cidrs, prefixes, services string) {
	converts := fmt.Sprintf("!variables.moving && params.data[%q] == 'true' && variables.services.split(',').size() != params.data[%q].split(',').size()", keyConvert, keyServices)
	p.variable("pools", "variables.cidrs.split(',')")
	p.variable("poolsBefore", fmt.Sprintf("params.data[?%q].orValue('').split(',')", keyCIDRs))
	p.variable("growable", fmt.Sprintf("!variables.moving && params.data[?%q].orValue('') == 'true' && variables.pools.size() == variables.poolsBefore.size()", keyGrow))
	p.variable("grows", "variables.growable && "+grownFrom("variables.pools[0]", "variables.poolsBefore[0]")+
		" && variables.pools.all(c, variables.poolsBefore.exists(o, "+grownFrom("c", "o")+"))")
	corrected := fmt.Sprintf("!variables.moving && variables.services == params.data[?%q].orValue('')", keyServiceCIDR)
	p.movable(services, keyServices, "variables.services", converts+" || "+corrected, rules.ServiceNetworkChange)
	p.movable(cidrs, keyCIDRs, "variables.cidrs", "variables.grows || "+converts, rules.ClusterNetworkGrow)
	p.movable(prefixes, keyHostPrefixes, "variables.hostPrefixes",
		converts+" || variables.pools.size() != variables.poolsBefore.size() || variables.growable && variables.pools.size() > 1", rules.HostPrefixChange)
}

// unserved adds the problem that kube-proxy is removed while no other component serves Services.
func (p *problems) unserved() {
	p.problem(fmt.Sprintf("params.data[?%q].orValue('') == 'true' && string(object.?spec.?deployKubeProxy.orValue('')) == 'false' && !variables.acknowledged", keyUnserved),
		fmt.Sprintf("%q", fmt.Sprintf("%s: %s%s (%s)", pipeline.ServiceProxyPath, rules.KubeProxyRemoved.Detail(), orAcknowledge, rules.KubeProxyRemoved.Rule())))
}

// grownFrom returns an expression for whether a pool equals before or has only a shorter prefix.
func grownFrom(pool, before string) string {
	return fmt.Sprintf("isCIDR(%[1]s) && isCIDR(%[2]s) && cidr(%[1]s).ip() == cidr(%[2]s).ip() && cidr(%[1]s).prefixLength() <= cidr(%[2]s).prefixLength()", pool, before)
}

// fixed adds the problems of fields whose value must not change, for those that a kind has. A field that is omitted, empty or
// zero keeps its value.
func (p *problems) fixed(fields []provider.Field, has has) {
	for _, f := range fields {
		if f.Fixed == "" {
			continue
		}
		if len(f.Choice) > 0 {
			p.choice(f)
			continue
		}
		for _, l := range f.Leaves(fields) {
			if has(l) {
				p.fixedLeaf(f, l)
			}
		}
	}
}

func (p *problems) fixedLeaf(f provider.Field, l provider.Leaf) {
	name := variable(l.Path)
	value := "variables." + name
	expression, unless := text(l), fmt.Sprintf("%[1]s == '' || %[1]s == '0'", value)
	if f.LeftOut != "" {
		expression, unless = fmt.Sprintf("%[1]s == '' ? %[2]q : %[1]s", expression, f.LeftOut), "false"
	}
	p.variable(name, expression)
	if f.Class == provider.Migration {
		unless += " || variables.announced" // another rule applies then
	}
	if f.Fixed == pipeline.RuleTypeChange {
		unless += fmt.Sprintf(" || %s.lowerAscii() == params.data[%q].lowerAscii()", value, l.Path)
	}
	if f.Acknowledge {
		p.movable(l.Path, l.Path, value, unless+" || variables.acknowledged && !variables.moving", f.Sentence(putBack+orAcknowledge))
		return
	}
	p.changed(l.Path, l.Path, value, unless, f.Sentence(putBack))
}

// choice adds the problem that another field of a choice is set. If none is set, the choice does not change.
func (p *problems) choice(f provider.Field) {
	name := variable(f.Path)
	used, unset := fmt.Sprintf("%q", f.Choice[0]), fmt.Sprintf("!%s.hasValue()", at(f.Path+"."+f.Choice[0]))
	for _, other := range f.Choice[1:] {
		used = fmt.Sprintf("%s.hasValue() ? %q : %s", at(f.Path+"."+other), other, used)
		unset += fmt.Sprintf(" && !%s.hasValue()", at(f.Path+"."+other))
	}
	p.variable(name, used)
	p.changed(f.Path, f.Path, "variables."+name, unset, f.Sentence(putBack))
}
