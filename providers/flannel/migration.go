package flannel

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

var (
	_ provider.MTUMigrator = Flannel{}
	_ provider.LinkChecker = Flannel{}
)

// MTUPath is the path of the field that sets the MTU of pods.
func (Flannel) MTUPath() *field.Path { return configPath.Child("mtu") }

// PodMTU returns the MTU that a filled specification gives pods, and what the backend takes for itself.
func (Flannel) PodMTU(spec *operatorv1.NetworkSpec) (mtu, extra int) {
	c := settings(spec)
	return int(*orZero(c.MTU)), overhead(c.Backend)
}

// CheckLinks refuses an MTU that, with what the backend adds, is more than a link of a node takes, and an interface that no node has.
func (f Flannel) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	missing := missingInterface(settings(spec).Interface, known.Interfaces)
	mtu, extra := f.PodMTU(spec)
	return append(missing, mtumigration.CheckLinks(f.MTUPath(), mtu, extra, string(settings(spec).Backend), known.LinkMTU())...)
}

// missingInterface refuses the name of an interface that no node has. That only some have it is reported by the agents of the others.
func missingInterface(name string, known []string) field.ErrorList {
	if name == "" || len(known) == 0 || slices.Contains(known, name) {
		return nil
	}
	const most = 10
	has, more := known, ""
	if len(has) > most {
		has, more = has[:most], fmt.Sprintf(" and %d more", len(known)-most)
	}
	return field.ErrorList{rules.InterfaceMissing.Invalid(configPath.Child("interface"), name, strings.Join(has, ", "), more)}
}

// migration returns the change of the MTU that a specification announces; nil if it announces none.
func migration(spec *operatorv1.NetworkSpec) *osv1.MTUMigrationValues {
	return mtumigration.Announced(spec)
}

// migrate completes what agents are told by the step that a change of the MTU is in, and returns the change; nil if there
// is none.
func (o observed) migrate(spec *operatorv1.NetworkSpec, config *agentconfig.Config, progress facts.MTUMigration) *mtumigration.Change {
	var told *mtumigration.State
	if o.told != nil {
		told = new(mtumigration.StateOf(o.told.MTU, o.told.Migration))
	}
	next, change := mtumigration.Next(told, config.MTU, migration(spec), progress)
	config.MTU, config.Migration = next.MTU, next.Migration(mtumigration.PodNamespaces)
	return change
}
