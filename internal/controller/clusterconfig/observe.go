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

// configName is the name of the singletons of config.openshift.io.
const configName = "cluster"

// Optional kinds, which are read if they are available.
var (
	kindInfrastructure = schema.GroupKind{Group: configv1.GroupName, Kind: "Infrastructure"}
	kindFeatureGate    = schema.GroupKind{Group: configv1.GroupName, Kind: "FeatureGate"}
)

// input is the input of a decision.
type input struct {
	// config is nil if it does not exist; nothing else is read then.
	config *configv1.Network
	// operator is nil if it does not exist.
	operator *operatorv1.Network
	env      environment
	// cluster is zero unless the configuration must be checked.
	cluster facts.Cluster
	record  applied.Record
	// corrupt is the error of reading the record; nil if it is readable.
	corrupt error
	mtu     int
}

// acknowledged returns the acknowledgement of the user, which may be on either object.
func (w *input) acknowledged() string {
	if hash := w.config.Annotations[pipeline.AcknowledgeAnnotation]; hash != "" || w.operator == nil {
		return hash
	}
	return w.operator.Annotations[pipeline.AcknowledgeAnnotation]
}

// failure is an error of reading or writing, with the reason for conditions.
type failure struct {
	reason, what string
	err          error
}

func (f failure) Error() string { return fmt.Sprintf("%s: %v", f.what, f.err) }
func (f failure) Unwrap() error { return f.err }

// observe reads the input of a decision.
func (c *Controller) observe(ctx context.Context) (*input, error) {
	w := &input{}
	var err error
	if w.config, err = read(ctx, c.Client, client.ObjectKey{Name: configName}, &configv1.Network{}); err != nil || w.config == nil {
		return w, err
	}
	if w.operator, err = read(ctx, c.Client, client.ObjectKey{Name: operatorv1.NetworkName}, &operatorv1.Network{}); err != nil {
		return w, err
	}
	if w.env, err = c.environment(ctx); err != nil {
		return w, failure{reasonInfra, "read infrastructure", err}
	}
	cm, err := read(ctx, c.Client, client.ObjectKey{Namespace: c.Namespace, Name: applied.ConfigMapName}, &corev1.ConfigMap{})
	if err != nil {
		return w, err
	}
	if cm != nil {
		// The inventory only matters if there is no record.
		if _, w.record, err = applied.Decide(applied.Found{Record: true, Data: cm.Data}); err != nil {
			w.corrupt = err
		}
	}
	// The nodes are only read if there is something to check.
	if base := w.record.Baseline(); base == nil || !desiredFrom(w.config).same(base) {
		if w.cluster, err = c.Facts(ctx); err != nil {
			return w, failure{reasonInfra, "observe the cluster", err}
		}
	}
	_, rollout, _ := c.Board.Snapshot()
	w.mtu = rollout.MTU
	return w, nil
}

// environment reads the platform and the feature gates.
func (c *Controller) environment(ctx context.Context) (environment, error) {
	var env environment
	if c.Serves(kindInfrastructure) {
		infra, err := read(ctx, c.Client, client.ObjectKey{Name: configName}, &configv1.Infrastructure{})
		if err != nil {
			return env, err
		}
		if infra != nil {
			env.platform = facts.Platform(infra)
			env.machines = machineNetworks(infra.Spec.PlatformSpec)
		}
	}
	if c.Serves(kindFeatureGate) {
		gate, err := read(ctx, c.Client, client.ObjectKey{Name: configName}, &configv1.FeatureGate{})
		if err != nil {
			return env, err
		}
		if gate != nil {
			env.gates = enabled(gate)
		}
	}
	return env, nil
}

// machineNetworks returns the machine networks that an administrator has configured.
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

// enabled returns the feature gates that are enabled in any version of the cluster. During an upgrade there are two versions.
func enabled(gate *configv1.FeatureGate) []string {
	var names []string
	for _, version := range gate.Status.FeatureGates {
		for _, g := range version.Enabled {
			names = append(names, string(g.Name))
		}
	}
	return names
}

// read reads an object. It returns nil if the object does not exist.
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

// reasonOf returns the reason for an error; the default is that for writing.
func reasonOf(err error) string {
	if f, ok := errors.AsType[failure](err); ok {
		return f.reason
	}
	return reasonApply
}
