// Package nodefight reports conflicts on nodes, where another client repeatedly changes what an agent of the network restores.
//
// Input: events with the reason FightDetected that agents create on their nodes and renew, the nodes, and the type of the applied network.
// Output: findings of the network's component.
//
// The controller changes nothing: agents continue to restore, and their events end with the conflicts. Events about deleted nodes and
// expired events are ignored.
package nodefight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs and on the board.
	Name = "nodefight"
	// collectDelay is the time during which events are batched, since a program on all nodes causes many at once.
	collectDelay = time.Second
	// maxNodes is the maximum number of nodes in a clause, maxClauses that of clauses in the message, and maxNoteBytes the maximum length
	// of an agent's text.
	maxNodes, maxClauses, maxNoteBytes = 5, 5, 300
)

// Controller reports conflicts on nodes. All exported fields except Client and OnFights must be set; setup sets Client.
type Controller struct {
	// Client reads from the controller's cache.
	Client client.Reader
	// Live reads the type of the applied network from the API server during conflicts.
	Live client.Reader
	// Nodes returns all nodes. They must not be modified.
	Nodes func(context.Context) ([]*corev1.Node, error)
	Board *report.Board
	// OnFights is called with the conflicts of each node in every reconcile; it may be nil.
	OnFights func(map[string][]string)
	Now      func() time.Time
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	needs := []schema.GroupKind{networkoperatorv1.GroupVersion.WithKind("NetworkGuard").GroupKind()}
	return []loop.Spec{{Name: Name, Needs: needs, Owns: cacheOptions(), Setup: c.setup}}
}

// cacheOptions returns the kinds that the controller reads from its own cache: the events about conflicts.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.Event{}: {
		Namespaces: map[string]cache.Config{fightevents.Namespace: {FieldSelector: fightevents.Selector()}},
	}}
}

func (c *Controller) setup(mgr manager.Manager) error {
	c.Client = mgr.GetClient()
	wake := &trigger.Trigger{Delay: collectDelay}
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{}, wake.Source(), loop.On(mgr, &corev1.Event{}, wake.Handler()))
}

// Reconcile reports the current conflicts, and requeues for the expiry of the first one.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var events corev1.EventList
	if err := c.Client.List(ctx, &events, client.InNamespace(fightevents.Namespace)); err != nil {
		return reconcile.Result{}, fmt.Errorf("read events: %w", err)
	}
	now := c.Now()
	fights := fightevents.Read(events.Items, now)
	if c.OnFights != nil {
		c.OnFights(fightevents.ByNode(fights))
	}
	if len(fights) == 0 {
		c.Board.Report(Name)
		return reconcile.Result{}, nil
	}
	component, err := c.component(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read nodes: %w", err)
	}
	exists, next := map[string]bool{}, fights[0].Until
	for _, n := range nodes {
		exists[n.Name] = true
	}
	for _, f := range fights {
		if f.Until.Before(next) {
			next = f.Until
		}
	}
	c.Board.Report(Name, findings(component, slices.DeleteFunc(fights, func(f fightevents.NodeFight) bool { return !exists[f.Node] }))...)
	return reconcile.Result{RequeueAfter: next.Sub(now)}, nil
}

// component returns the component of the agents; empty while no network is applied.
func (c *Controller) component(ctx context.Context) (string, error) {
	var applied networkoperatorv1.NetworkGuard
	if err := c.Live.Get(ctx, client.ObjectKey{Name: networkoperatorv1.NetworkGuardName}, &applied); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read NetworkGuard: %w", err)
		}
		return "", nil
	}
	return string(admission.TypeOf(&applied)), nil
}

// findings returns a finding with a clause for each conflict, with its nodes and the greatest number of repairs.
func findings(component string, fights []fightevents.NodeFight) []status.Finding {
	nodes, most := map[string][]string{}, map[string]int{}
	for _, f := range fights {
		note := truncate(f.Note)
		if !slices.Contains(nodes[note], f.Node) {
			nodes[note] = append(nodes[note], f.Node)
		}
		most[note] = max(most[note], f.Number)
	}
	var clauses []string
	for note, on := range nodes {
		word := "node "
		if len(on) > 1 {
			word = "nodes "
		}
		clauses = append(clauses, fmt.Sprintf("%s%s: %s (restored %d times or more)", word, status.Names(on, maxNodes), note, most[note]))
	}
	if len(clauses) == 0 {
		return nil
	}
	slices.Sort(clauses)
	return []status.Finding{{Component: component, Effect: status.Degraded, Reason: fight.Reason, Message: phrase.Clauses(clauses, maxClauses), Immediate: true}}
}

// truncate limits the text of an agent.
func truncate(note string) string {
	if len(note) <= maxNoteBytes {
		return note
	}
	return strings.ToValidUTF8(note[:maxNoteBytes], "") + "..."
}
