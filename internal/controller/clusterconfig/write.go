package clusterconfig

import (
	"context"
	"errors"
	"fmt"
	"sync"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/report"
)

// follow judges the configuration, and writes down what may be and is not there yet. It returns what a user has to know.
func (c *Controller) follow(ctx context.Context, w *world) (trouble, error) {
	if w.corrupt != nil {
		return unread(w.corrupt), nil
	}
	v, err := judge(ctx, c.Pipeline, w)
	if err != nil {
		return trouble{}, fmt.Errorf("judge the cluster configuration: %w", err)
	}
	if !v.write {
		return troubleOf(v), nil
	}
	fields := v.wanted.differences(&operatorv1.NetworkSpec{})
	if w.operator != nil {
		fields = v.wanted.differences(&w.operator.Spec)
	}
	err = c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(v.wanted.object()), fieldManager, client.ForceOwnership)
	switch {
	case apierrors.IsInvalid(err):
		return refusedByServer(err), nil
	case err != nil:
		return trouble{}, fmt.Errorf("apply network: %w", err)
	}
	c.Log.Info("Network.operator/cluster follows Network.config/cluster", "fields", fields)
	c.Events.Eventf(w.config, nil, corev1.EventTypeNormal, eventFollowed, "Reconcile", "%s", followed(fields))
	return trouble{}, nil
}

// tell makes an event of a trouble that is new.
func (c *Controller) tell(config *configv1.Network, t trouble) {
	if t != c.told && t != (trouble{}) {
		c.Log.Warn("the cluster configuration is not followed", "reason", t.reason, "message", t.message)
		c.Events.Eventf(config, nil, corev1.EventTypeWarning, t.reason, "Reconcile", "%s", cut(t.message, longestNote))
	}
	c.told = t
}

// publish writes the status of Network.config when it differs. The kind has no separate status.
func (c *Controller) publish(ctx context.Context, w *world, t trouble) error {
	spec := w.record.Applied.Spec()
	wanted := statusFor(w.config.Status, inForce{spec: spec, mtu: w.mtu, own: c.installs(spec)})
	synced := condition(t)
	synced.LastTransitionTime = metav1.Time{Time: c.Now()}
	meta.SetStatusCondition(&wanted.Conditions, synced)
	if equality.Semantic.DeepEqual(w.config.Status, wanted) {
		return nil
	}
	changed := w.config.DeepCopy()
	changed.Status = wanted
	// The conditions are written as a whole, and others have some among them.
	err := c.Client.Patch(ctx, changed, client.MergeFromWithOptions(w.config, client.MergeFromWithOptimisticLock{}), fieldManager)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write status of network configuration: %w", err)
	}
	return nil
}

// installs reports whether this operator installs the network of a specification.
func (c *Controller) installs(spec *operatorv1.NetworkSpec) bool {
	if spec == nil {
		return false
	}
	for _, p := range c.Pipeline.Registry.Providers {
		if t := p.Traits(); t.Type == spec.DefaultNetwork.Type {
			return t.NotBuilt == ""
		}
	}
	return false
}

// passing reports whether an error is about nothing but a third party having been faster, or the operator's end.
func passing(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, context.Canceled)
}

// watchedMTU fires when the MTU of the network in effect is another one.
type watchedMTU struct {
	board   *report.Board
	changed func()

	mu   sync.Mutex
	last int
}

func (m *watchedMTU) look() {
	_, rollout, _ := m.board.Snapshot()
	m.mu.Lock()
	same := m.last == rollout.MTU
	m.last = rollout.MTU
	m.mu.Unlock()
	if !same {
		m.changed()
	}
}

// nodesChanged lets through nodes that come and go, and those that get other addresses: no pool may contain them.
func nodesChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, also := e.ObjectNew.(*corev1.Node)
		return !ok || !also || !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
	}}
}
