package clusterconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// configName is the name of the objects of config.openshift.io, of which there is one each.
const configName = "cluster"

// The kinds that are read where they are served.
var (
	kindInfrastructure = schema.GroupKind{Group: configv1.GroupName, Kind: "Infrastructure"}
	kindFeatureGate    = schema.GroupKind{Group: configv1.GroupName, Kind: "FeatureGate"}
)

// world is all that a decision is made of.
type world struct {
	// config is nil if there is none; nothing else is read then.
	config *configv1.Network
	// operator is nil if there is none.
	operator *operatorv1.Network
	around   surroundings
	// cluster is zero unless the configuration has to be judged.
	cluster facts.Cluster
	record  applied.Record
	// corrupt says why the record cannot be read.
	corrupt error
	mtu     int
}

// acknowledged is what the user has acknowledged, on either object.
func (w *world) acknowledged() string {
	if hash := w.config.Annotations[pipeline.AcknowledgeAnnotation]; hash != "" || w.operator == nil {
		return hash
	}
	return w.operator.Annotations[pipeline.AcknowledgeAnnotation]
}

// failure is something that could not be read or written, with the reason that stands for it.
type failure struct {
	reason, what string
	err          error
}

func (f failure) Error() string { return fmt.Sprintf("%s: %v", f.what, f.err) }
func (f failure) Unwrap() error { return f.err }

// gather reads the world.
func (c *Controller) gather(ctx context.Context) (*world, error) {
	w := &world{}
	var err error
	if w.config, err = read(ctx, c.Client, client.ObjectKey{Name: configName}, &configv1.Network{}); err != nil || w.config == nil {
		return w, err
	}
	if w.operator, err = read(ctx, c.Client, client.ObjectKey{Name: operatorv1.NetworkName}, &operatorv1.Network{}); err != nil {
		return w, err
	}
	if w.around, err = c.surroundings(ctx); err != nil {
		return w, failure{reasonInfra, "read infrastructure", err}
	}
	cm, err := read(ctx, c.Client, client.ObjectKey{Namespace: c.Namespace, Name: applied.ConfigMapName}, &corev1.ConfigMap{})
	if err != nil {
		return w, err
	}
	if cm != nil {
		// What the inventory has makes a difference only when there is no record.
		if _, w.record, err = applied.Decide(applied.Found{Record: true, Data: cm.Data}); err != nil {
			w.corrupt = err
		}
	}
	// Looking at all nodes is worth it only when there is something to judge.
	if base := w.record.Baseline(); base == nil || !want(w.config).same(base) {
		if w.cluster, err = c.Facts(ctx); err != nil {
			return w, failure{reasonInfra, "observe the cluster", err}
		}
	}
	_, rollout, _ := c.Board.Snapshot()
	w.mtu = rollout.MTU
	return w, nil
}

// surroundings reads what else affects a configuration.
func (c *Controller) surroundings(ctx context.Context) (surroundings, error) {
	var around surroundings
	if c.Serves(kindInfrastructure) {
		infra, err := read(ctx, c.Client, client.ObjectKey{Name: configName}, &configv1.Infrastructure{})
		if err != nil {
			return around, err
		}
		if infra != nil {
			around.platform = facts.Platform(infra)
			around.machines = machineNetworks(infra.Spec.PlatformSpec)
		}
	}
	if c.Serves(kindFeatureGate) {
		gate, err := read(ctx, c.Client, client.ObjectKey{Name: configName}, &configv1.FeatureGate{})
		if err != nil {
			return around, err
		}
		if gate != nil {
			around.gates = enabled(gate)
		}
	}
	return around, nil
}

// machineNetworks are the networks of machines that an administrator has named.
func machineNetworks(p configv1.PlatformSpec) []string {
	var all []string
	add := func(list []configv1.CIDR) {
		for _, n := range list {
			all = append(all, string(n))
		}
	}
	if p.BareMetal != nil {
		add(p.BareMetal.MachineNetworks)
	}
	if p.VSphere != nil {
		add(p.VSphere.MachineNetworks)
	}
	if p.OpenStack != nil {
		add(p.OpenStack.MachineNetworks)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// enabled are the gates that any version of the cluster has enabled: while it is upgraded there are two.
func enabled(gate *configv1.FeatureGate) []string {
	var names []string
	for _, version := range gate.Status.FeatureGates {
		for _, g := range version.Enabled {
			names = append(names, string(g.Name))
		}
	}
	return names
}

// read reads an object, nil if there is none.
func read[T client.Object](ctx context.Context, r client.Reader, key client.ObjectKey, into T) (T, error) {
	var none T
	err := r.Get(ctx, key, into)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return none, fmt.Errorf("read %T %s: %w", into, key.Name, err)
	case err != nil:
		return none, nil
	}
	return into, nil
}

// reasonOf is the reason that stands for an error; most are about writing.
func reasonOf(err error) string {
	if f, ok := errors.AsType[failure](err); ok {
		return f.reason
	}
	return reasonApply
}
