package admission

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
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

// migrationData adds what the API server has to know to judge the change of an MTU, and what must not change meanwhile.
func migrationData(d map[string]string, registry pipeline.Registry, fields []provider.Field, a Applied) error {
	announced := a.Spec.Migration != nil && a.Spec.Migration.MTU != nil
	d[keyMoving] = strconv.FormatBool(announced || a.Cluster.MTUMigration.Active)
	own := registry.MTUMigrator(a.Traits.Type)
	d[keyOwn] = strconv.FormatBool(own != nil)
	if own == nil {
		return nil
	}
	d[keyFrom], d[keyTo], d[keyMost] = "", "", ""
	if announced && a.Spec.Migration.MTU.Network != nil {
		d[keyFrom], d[keyTo] = number(a.Spec.Migration.MTU.Network.From), number(a.Spec.Migration.MTU.Network.To)
	}
	mtu, overhead := own.PodMTU(a.Spec)
	d[keyMTU], d[keyReached] = strconv.Itoa(mtu), strconv.FormatBool(a.Cluster.MTUMigration.Reached(mtu))
	if link := a.Cluster.LinkMTU(); link > 0 {
		d[keyMost] = strconv.Itoa(link - overhead)
	}
	return stillData(d, registry, fields, a)
}

func number(n *uint32) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*n), 10)
}

// stillData adds the values of the fields that have to stay as they are during a change of the MTU, and those that they
// get when they are left out.
func stillData(d map[string]string, registry pipeline.Registry, fields []provider.Field, a Applied) error {
	values := provider.ValuesOf(a.Spec)
	for _, l := range still(fields) {
		if l.Form == provider.Opaque {
			continue
		}
		filled, err := registry.Fill(l.Cleared(a.Spec), a.Spec, a.Cluster)
		if err != nil {
			return err
		}
		d[l.Path], d[l.Path+leftOut] = l.Text(values), cmp.Or(provider.FieldOf(fields, l.Path).LeftOut, l.Text(provider.ValuesOf(filled)))
	}
	return nil
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
func (p *problems) migration(fields []provider.Field) {
	const at = "spec.migration.mtu"
	p.variable("both", "variables.from != '' && variables.to != ''")
	p.variable("sameAnnouncement", "variables.from == "+applied(keyFrom)+" && variables.to == "+applied(keyTo))
	p.variable("turned", "variables.to == "+applied(keyFrom)+" && variables.from == "+applied(keyTo))
	p.variable("newAnnouncement", "variables.own && variables.announced && variables.both && !variables.sameAnnouncement")
	p.variable("underWay", applied(keyTo)+" != '' && "+applied(keyReached)+" != 'true'")
	p.problem("variables.own && object.?spec.?migration.?mtu.?machine.hasValue()", saying(at+".machine: ", rules.MigrationMachines))
	p.problem("variables.own && variables.announced && !variables.both", saying(at+".network: ", rules.MigrationBothEnds))
	p.problem("variables.own && variables.announced && variables.both && variables.from == variables.to",
		saying(at+".network.to: %s ", rules.MigrationSame, "variables.to"))
	p.variable("least", fmt.Sprintf("variables.cidrs.contains(':') ? %d : %d", pipeline.LeastMTU6, pipeline.LeastMTU4))
	p.problem(fmt.Sprintf("variables.own && variables.announced && variables.both && (int(variables.to) < variables.least || int(variables.to) > %d)", pipeline.MostMTU),
		saying(at+".network.to: %s ", rules.MigrationRange, "variables.to", "variables.least"))
	p.problem("variables.newAnnouncement && !variables.turned && variables.underWay",
		saying(at+`.network: "%s -> %s" -> "%s -> %s": `, rules.MigrationTurn, applied(keyFrom), applied(keyTo), "variables.from", "variables.to"))
	p.problem("variables.newAnnouncement && !variables.turned && !variables.underWay && variables.from != "+applied(keyMTU),
		saying(at+".network.from: %s ", rules.MigrationFrom, "variables.from", "int("+applied(keyMTU)+")"))
	p.problem(fmt.Sprintf("variables.newAnnouncement && %[1]s != '' && int(variables.to) > int(variables.from) && int(variables.to) > int(%[1]s)", applied(keyMost)),
		saying(at+`.network.to: "%s" -> "%s": `, rules.MigrationLinks, applied(keyMTU), "variables.to", "int("+applied(keyMost)+")"))
	p.fittingMTU(fields)
}

// fittingMTU adds the problem that the MTU itself is set to something else than what is announced.
func (p *problems) fittingMTU(fields []provider.Field) {
	for _, f := range fields {
		if f.Fixed == "" || f.Class != provider.Migration {
			continue
		}
		mtu := single(f.Path)
		p.problem(fmt.Sprintf("%q in params.data && variables.own && variables.announced && variables.from != '' && variables.to != '' && !(%s in ['', '0', variables.from, variables.to])", f.Path, mtu),
			saying(f.Path+`: "%s" -> "%s": `, rules.MigrationFitting, applied(keyMTU), mtu, "int(variables.from)", "int(variables.to)"))
	}
}
