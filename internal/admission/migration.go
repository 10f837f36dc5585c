package admission

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// The keys of the data about an MTU migration.
const (
	// keyMoving is true while one is requested or runs: then nothing else may change.
	keyMoving = "mtu-migration"
	// keyOwn is true if the network changes the MTU itself. Only then are requests checked here.
	keyOwn = "mtu-migration-own"
	// keyFrom and keyTo are the requested MTUs; empty if there is no request.
	keyFrom = "spec.migration.mtu.network.from"
	keyTo   = "spec.migration.mtu.network.to"
	// keyReached is true once all nodes have the applied MTU, so that another migration may begin.
	keyReached = "mtu-migration-reached"
	// keyMTU is the applied MTU, keyMost the largest one that the links of all nodes carry; empty if unknown.
	keyMTU  = "mtu"
	keyMost = "mtu-most"
	// leftOut is the suffix of the key of the value that an omitted field gets.
	leftOut = " (left out)"
)

// migrationData adds the data to check an MTU migration, and the values that must not change meanwhile.
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
	return frozenData(d, registry, fields, a)
}

func number(n *uint32) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*n), 10)
}

// frozenData adds the values of the fields that must not change during an MTU migration, and those that they get if they
// are omitted.
func frozenData(d map[string]string, registry pipeline.Registry, fields []provider.Field, a Applied) error {
	values := provider.ValuesOf(a.Spec)
	for _, l := range frozen(fields) {
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

// applied returns an expression for a value of the data.
func applied(key string) string { return fmt.Sprintf("params.data[?%q].orValue('')", key) }

// announcement adds variables for the MTU migration that an object requests: whether there is one, and both MTUs as text.
func (p *problems) announcement(announced, from, to string) {
	p.variable("own", applied(keyOwn)+" == 'true'")
	p.variable("announced", announced)
	p.variable("from", from)
	p.variable("to", to)
	p.variable("moving", "variables.announced || "+applied(keyMoving)+" == 'true'")
}

// announcedElsewhere adds variables for the applied MTU migration, for kinds that cannot request one.
func (p *problems) announcedElsewhere() {
	p.announcement(applied(keyTo)+" != ''", applied(keyFrom), applied(keyTo))
}

// migration adds the problems of a requested MTU migration, for networks that change the MTU themselves.
func (p *problems) migration(fields []provider.Field) {
	const at = "spec.migration.mtu"
	p.variable("both", "variables.from != '' && variables.to != ''")
	p.variable("sameAnnouncement", "variables.from == "+applied(keyFrom)+" && variables.to == "+applied(keyTo))
	p.variable("turned", "variables.to == "+applied(keyFrom)+" && variables.from == "+applied(keyTo))
	p.variable("newAnnouncement", "variables.own && variables.announced && variables.both && !variables.sameAnnouncement")
	p.variable("underWay", applied(keyTo)+" != '' && "+applied(keyReached)+" != 'true'")
	p.problem("variables.own && object.?spec.?migration.?mtu.?machine.hasValue()", sentence(at+".machine: ", rules.MigrationMachines))
	p.problem("variables.own && variables.announced && !variables.both", sentence(at+".network: ", rules.MigrationBothEnds))
	p.problem("variables.own && variables.announced && variables.both && variables.from == variables.to",
		sentence(at+".network.to: %s ", rules.MigrationSame, "variables.to"))
	p.variable("least", fmt.Sprintf("variables.cidrs.contains(':') ? %d : %d", pipeline.LeastMTU6, pipeline.LeastMTU4))
	p.problem(fmt.Sprintf("variables.own && variables.announced && variables.both && (int(variables.to) < variables.least || int(variables.to) > %d)", pipeline.MostMTU),
		sentence(at+".network.to: %s ", rules.MigrationRange, "variables.to", "variables.least"))
	p.problem("variables.newAnnouncement && !variables.turned && variables.underWay",
		sentence(at+`.network: "%s -> %s" -> "%s -> %s": `, rules.MigrationTurn, applied(keyFrom), applied(keyTo), "variables.from", "variables.to"))
	p.problem("variables.newAnnouncement && !variables.turned && !variables.underWay && variables.from != "+applied(keyMTU),
		sentence(at+".network.from: %s ", rules.MigrationFrom, "variables.from", "int("+applied(keyMTU)+")"))
	p.problem(fmt.Sprintf("variables.newAnnouncement && %[1]s != '' && int(variables.to) > int(variables.from) && int(variables.to) > int(%[1]s)", applied(keyMost)),
		sentence(at+`.network.to: "%s" -> "%s": `, rules.MigrationLinks, applied(keyMTU), "variables.to", "int("+applied(keyMost)+")"))
	p.fittingMTU(fields)
}

// fittingMTU adds the problem that the MTU itself differs from both requested ones.
func (p *problems) fittingMTU(fields []provider.Field) {
	for _, f := range fields {
		if f.Fixed == "" || f.Class != provider.Migration {
			continue
		}
		mtu := single(f.Path)
		p.problem(fmt.Sprintf("%q in params.data && variables.own && variables.announced && variables.from != '' && variables.to != '' && !(%s in ['', '0', variables.from, variables.to])", f.Path, mtu),
			sentence(f.Path+`: "%s" -> "%s": `, rules.MigrationFitting, applied(keyMTU), mtu, "int(variables.from)", "int(variables.to)"))
	}
}
