package flannel

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

var (
	_ provider.MTUMigrator = Flannel{}
	_ provider.LinkChecker = Flannel{}
)

// MTUPath is the path of the field that sets the MTU of pods.
func (Flannel) MTUPath() *field.Path { return configPath.Child("mtu") }

// PodMTU returns the MTU that a defaulted specification gives pods, and the overhead of the backend, both in bytes.
func (Flannel) PodMTU(spec *operatorv1.NetworkSpec) (mtu, extra int) {
	c := settings(spec)
	return int(*orZero(c.MTU)), overhead(c.Backend)
}

// CheckLinks rejects an MTU that, with the backend's overhead, exceeds the MTU of a node's link, and an interface that no node has.
func (f Flannel) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	missing := missingInterface(settings(spec).Interface, known.Interfaces)
	mtu, extra := f.PodMTU(spec)
	return append(missing, mtumigration.CheckLinks(f.MTUPath(), mtu, extra, string(settings(spec).Backend), known.LinkMTU())...)
}

// missingInterface rejects the name of an interface that no node has. If only some nodes lack it, their agents report that.
func missingInterface(name string, known []string) field.ErrorList {
	if name == "" || len(known) == 0 || slices.Contains(known, name) {
		return nil
	}
	const maxNames = 10
	return field.ErrorList{rules.InterfaceMissing.Invalid(configPath.Child("interface"), name, phrase.Names(known, maxNames))}
}

// migration returns the MTU migration that a specification announces; nil if there is none.
func migration(spec *operatorv1.NetworkSpec) *osv1.MTUMigrationValues {
	return mtumigration.Announced(spec)
}

// migrate adds the current step of an MTU migration to the agents' configuration, and returns the migration; nil if there is none.
func (o observed) migrate(spec *operatorv1.NetworkSpec, config *agentconfig.Config, progress facts.MTUMigration) *mtumigration.Change {
	var current *mtumigration.State
	if o.current != nil {
		current = new(mtumigration.StateOf(o.current.MTU, o.current.Migration))
	}
	next, change := mtumigration.Next(current, config.MTU, migration(spec), progress)
	config.MTU, config.Migration = next.MTU, next.Migration(mtumigration.PodNamespaces)
	return change
}
