package admission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// The keys of the data that report a change of the MTU.
const (
	// keyMoving is true while one is announced, or goes on: then nothing else may change.
	keyMoving = "mtu-migration"
	// keyOwn is true if the network changes the MTU itself. Only then is an announcement judged here.
	keyOwn = "mtu-migration-own"
	// keyFrom and keyTo are what is announced; empty if nothing is.
	keyFrom = "spec.migration.mtu.network.from"
	keyTo   = "spec.migration.mtu.network.to"
	// keyReached is true once all nodes have the MTU that is applied, so that another change may begin.
	keyReached = "mtu-migration-reached"
	// keyMTU is the MTU that is applied, keyMost the longest that the links of all nodes carry; empty if that is not
	// known.
	keyMTU  = "mtu"
	keyMost = "mtu-most"
	// leftOut after a key is the value that a field gets when it is left out.
	leftOut = " (left out)"
)

const keyArguments = "spec.kubeProxyConfig.proxyArguments"

// once is what is wrong with everything else during a change of the MTU, and the way out.
const once = "nothing else may change during an MTU migration" + putBack + ", and change it once spec.migration is removed and the migration has ended"

// leaf is a single field whose change is not live, and that no other rule holds fast: it may change at any time but during
// a migration.
type leaf struct {
	path string
	// short is true if NetworkConfig has it, too.
	short bool
	// clear takes the value away, to see what it gets when it is left out. nil if that is nothing.
	clear func(*operatorv1.NetworkSpec)
	// list is true for a list of texts.
	list bool
}

const external = "spec.defaultNetwork.flannelConfig.etcd.external"

func leaves() []leaf {
	proxy := func(s *operatorv1.NetworkSpec) *osv1.ProxyConfig {
		if s.KubeProxyConfig == nil {
			return &osv1.ProxyConfig{}
		}
		return s.KubeProxyConfig
	}
	return []leaf{
		{path: "spec.logLevel", clear: func(s *operatorv1.NetworkSpec) { s.LogLevel = "" }},
		{path: "spec.useMultiNetworkPolicy", clear: func(s *operatorv1.NetworkSpec) { s.UseMultiNetworkPolicy = nil }},
		{path: "spec.additionalRoutingCapabilities.providers", list: true},
		{path: "spec.deployKubeProxy", short: true, clear: func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = nil }},
		{path: "spec.kubeProxyConfig.bindAddress", short: true, clear: func(s *operatorv1.NetworkSpec) { proxy(s).BindAddress = "" }},
		{path: "spec.kubeProxyConfig.iptablesSyncPeriod", short: true, clear: func(s *operatorv1.NetworkSpec) { proxy(s).IptablesSyncPeriod = "" }},
		{path: external + ".endpoints", short: true, list: true},
		{path: external + ".caConfigMap", short: true},
		{path: external + ".clientCertificateSecret", short: true},
	}
}

// migrationData adds what the API server has to know to judge the change of an MTU, and what must not change meanwhile.
func migrationData(d map[string]string, registry pipeline.Registry, a Applied) error {
	announced := a.Spec.Migration != nil && a.Spec.Migration.MTU != nil
	d[keyMoving] = strconv.FormatBool(announced || a.Cluster.MTUMigration.Active)
	own := registry.MTUMigrator(a.Traits.Type)
	d[keyOwn] = strconv.FormatBool(own != nil)
	if own == nil {
		return nil
	}
	d[keyFrom], d[keyTo], d[keyMost] = "", "", ""
	if announced && a.Spec.Migration.MTU.Network != nil {
		d[keyFrom], d[keyTo] = text(a.Spec.Migration.MTU.Network.From), text(a.Spec.Migration.MTU.Network.To)
	}
	mtu, overhead := own.PodMTU(a.Spec)
	d[keyMTU], d[keyReached] = strconv.Itoa(mtu), strconv.FormatBool(a.Cluster.MTUMigration.Reached(mtu))
	if link := a.Cluster.LinkMTU(); link > 0 {
		d[keyMost] = strconv.Itoa(link - overhead)
	}
	return leafData(d, registry, a)
}

func text(n *uint32) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*n), 10)
}

func leafData(d map[string]string, registry pipeline.Registry, a Applied) error {
	for _, l := range leaves() {
		d[l.path] = valueOf(a.Spec, l)
		d[l.path+leftOut] = ""
		if l.clear == nil {
			continue
		}
		without := a.Spec.DeepCopy()
		l.clear(without)
		filled, err := registry.Fill(without, a.Spec, a.Cluster)
		if err != nil {
			return err
		}
		d[l.path+leftOut] = valueOf(filled, l)
	}
	var arguments []string
	if c := a.Spec.KubeProxyConfig; c != nil {
		for name, values := range c.ProxyArguments {
			arguments = append(arguments, name+"="+strings.Join(values, ","))
		}
	}
	slices.Sort(arguments)
	d[keyArguments] = strings.Join(arguments, "\n")
	return nil
}

// valueOf is the value of a leaf as text; empty if it has none.
func valueOf(spec *operatorv1.NetworkSpec, l leaf) string {
	if !l.list {
		value, _ := pipeline.Value(spec, l.path)
		return value
	}
	var all []string
	for i := 0; ; i++ {
		value, ok := pipeline.Value(spec, fmt.Sprintf("%s[%d]", l.path, i))
		if !ok {
			return strings.Join(all, ",")
		}
		all = append(all, value)
	}
}

// applied is an expression for a value of the data.
func applied(key string) string { return fmt.Sprintf("params.data[?%q].orValue('')", key) }

// announcement adds what an object says of a change of the MTU: expressions for whether it says anything, and for both
// ends of it as text.
func (p *problems) announcement(announced, from, to string) {
	p.variable("own", applied(keyOwn)+" == 'true'")
	p.variable("announced", announced)
	p.variable("from", from)
	p.variable("to", to)
	p.variable("moving", "variables.announced || "+applied(keyMoving)+" == 'true'")
}

// announcedElsewhere takes what is announced from what is applied: the kinds that are shorter than Network cannot say it.
func (p *problems) announcedElsewhere() {
	p.announcement(applied(keyTo)+" != ''", applied(keyFrom), applied(keyTo))
}

// migration adds the problems of an announcement itself, for networks that change the MTU themselves.
func (p *problems) migration() {
	const at = "spec.migration.mtu"
	p.variable("both", "variables.from != '' && variables.to != ''")
	p.variable("sameAnnouncement", "variables.from == "+applied(keyFrom)+" && variables.to == "+applied(keyTo))
	p.variable("turned", "variables.to == "+applied(keyFrom)+" && variables.from == "+applied(keyTo))
	p.variable("newAnnouncement", "variables.own && variables.announced && variables.both && !variables.sameAnnouncement")
	p.variable("underWay", applied(keyTo)+" != '' && "+applied(keyReached)+" != 'true'")
	p.problem("variables.own && object.?spec.?migration.?mtu.?machine.hasValue()",
		fmt.Sprintf("%q", at+".machine: this network does not change the links of machines: change those first, on all nodes, then the MTU of pods; to lower both, lower that of pods first; remove the field ("+pipeline.RuleMigrationMTU+")"))
	p.problem("variables.own && variables.announced && !variables.both",
		fmt.Sprintf("%q + "+applied(keyMTU)+" + %q", at+".network: from and to are both needed: the MTU that is applied (", "), and the one that is wanted ("+pipeline.RuleMigrationMTU+")"))
	p.problem("variables.own && variables.announced && variables.both && variables.from == variables.to",
		fmt.Sprintf("%q + variables.to + %q", at+".network.to: ", " is the same as from; set it to the MTU that is wanted ("+pipeline.RuleMigrationMTU+")"))
	p.variable("least", fmt.Sprintf("variables.cidrs.contains(':') ? %d : %d", pipeline.LeastMTU6, pipeline.LeastMTU4))
	p.problem(fmt.Sprintf("variables.own && variables.announced && variables.both && (int(variables.to) < variables.least || int(variables.to) > %d)", pipeline.MostMTU),
		fmt.Sprintf("%q + variables.to + %q + string(variables.least) + %q", at+".network.to: ", " is out of range; it must be ", fmt.Sprintf(" to %d (%s)", pipeline.MostMTU, pipeline.RuleMigrationMTU)))
	p.problem("variables.newAnnouncement && !variables.turned && variables.underWay",
		fmt.Sprintf("%q + %s + ' -> ' + %s + '\" -> \"' + variables.from + ' -> ' + variables.to + %q", at+".network: \"", applied(keyFrom), applied(keyTo),
			"\": cannot be changed during a migration; remove spec.migration or exchange from and to to go back ("+pipeline.RuleDuringMigration+")"))
	p.problem("variables.newAnnouncement && !variables.turned && !variables.underWay && variables.from != "+applied(keyMTU),
		fmt.Sprintf("%q + variables.from + %q + %s + %q", at+".network.from: ", " is not the MTU that is applied; set it to ", applied(keyMTU), " ("+pipeline.RuleMigrationMTU+")"))
	p.problem(fmt.Sprintf("variables.newAnnouncement && %[1]s != '' && int(variables.to) > int(variables.from) && int(variables.to) > int(%[1]s)", applied(keyMost)),
		fmt.Sprintf("%q + %s + '\" -> \"' + variables.to + %q + %s + %q", at+".network.to: \"", applied(keyMTU), "\": is more than the MTU of the nodes' links, less the overhead of the network; use ", applied(keyMost),
			" or less, or raise the links first and delete the ConfigMap mtu, so that nodes are asked again ("+pipeline.RuleMigrationMTU+")"))
	p.fittingMTU()
}

// fittingMTU adds the problem that the MTU itself is set to something else than what is announced.
func (p *problems) fittingMTU() {
	mtu := "string(object.?spec.?defaultNetwork.?flannelConfig.?mtu.orValue(''))"
	p.problem(fmt.Sprintf("variables.own && variables.announced && variables.from != '' && variables.to != '' && !(%s in ['', '0', variables.from, variables.to])", mtu),
		fmt.Sprintf("%q + %s + '\" -> \"' + %s + %q + variables.from + ' or ' + variables.to + %q", "spec.defaultNetwork.flannelConfig.mtu: \"", applied(keyMTU), mtu,
			"\": must be left out, or be ", ", while spec.migration.mtu goes from the one to the other ("+pipeline.RuleMigrationMTU+")"))
}

// nothingElse adds the problem that something else changes during a change of the MTU. all is false for the kind that has
// only some fields.
func (p *problems) nothingElse(all bool) {
	for _, l := range leaves() {
		if !l.short && !all {
			continue
		}
		name := strings.ReplaceAll(strings.TrimPrefix(l.path, "spec."), ".", "_")
		at := "object." + strings.ReplaceAll(l.path, ".", ".?")
		value := fmt.Sprintf("string(%s.orValue(''))", at)
		if l.list {
			value = at + ".orValue([]).map(e, string(e)).join(',')"
		}
		p.variable(name, fmt.Sprintf("%[1]s == '' ? %[2]s : %[1]s", value, applied(l.path+leftOut)))
		unless := "!variables.moving || !variables.own"
		if strings.HasPrefix(l.path, external) {
			unless += fmt.Sprintf(" || !object.%s.hasValue()", strings.ReplaceAll(external, ".", ".?"))
		}
		p.changed(l.path, l.path, "variables."+name, unless, once, pipeline.RuleDuringMigration)
	}
	if all {
		p.problem("variables.moving && variables.own && oldObject != null && object.?spec.?workloads != oldObject.?spec.?workloads",
			fmt.Sprintf("%q", keyWorkloads+": "+once+" ("+pipeline.RuleDuringMigration+")"))
	}
	p.arguments()
}

// arguments compares those of kube-proxy, in any order. Its mode is kept when it is left out.
func (p *problems) arguments() {
	const mode = "proxy-mode="
	at := "object.?spec.?kubeProxyConfig.?proxyArguments.orValue({})"
	p.variable("arguments", fmt.Sprintf("%[1]s.map(k, k + '=' + %[1]s[k].join(',')).filter(a, a != '%[2]s')", at, mode))
	p.variable("argumentsBefore", applied(keyArguments)+".split('\\n').filter(a, a != '')")
	p.problem(fmt.Sprintf("variables.moving && variables.own && !(variables.arguments.all(a, a in variables.argumentsBefore) && variables.argumentsBefore.all(b, b in variables.arguments || "+
		"%[2]s == 'true' && b.startsWith('%[1]s') && !variables.arguments.exists(a, a.startsWith('%[1]s'))))", mode, applied("spec.deployKubeProxy")),
		fmt.Sprintf("%q + variables.argumentsBefore.join(' ') + '\" -> \"' + variables.arguments.join(' ') + %q", keyArguments+": \"", "\": "+once+" ("+pipeline.RuleDuringMigration+")"))
}
