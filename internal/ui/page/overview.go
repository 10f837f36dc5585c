package page

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/cli/doctor"
	"github.com/cluster-network-operator/cno/internal/cli/history"
	"github.com/cluster-network-operator/cno/internal/cli/status"
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/rolloutwatch"
	decided "github.com/cluster-network-operator/cno/internal/status"
)

// recent is the age up to which changes are listed.
const recent = 24 * time.Hour

// Overview is the state of the network on one page.
type Overview struct {
	// Sentence summarizes the state.
	Sentence string `json:"sentence"`
	// Status is the output of cno status.
	Status status.View `json:"status"`
	// Rollout is nil unless a change is being rolled out.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Changes are those of the last day, the newest first.
	Changes []Change `json:"changes"`
	// Findings are those of the archive's report; nil for a cluster.
	Findings []doctor.Finding `json:"findings,omitzero"`
	// Missing are sentences about data that could not be read.
	Missing []string `json:"missing,omitempty"`
}

// Rollout is the progress of a change.
type Rollout struct {
	// Done of Nodes is the sum over all workloads; a node counts once for each of its workloads. Percent is their ratio, rounded down.
	Done    int32 `json:"done"`
	Nodes   int32 `json:"nodes"`
	Percent int   `json:"percent"`
	// Since is the start of the change; zero if unknown. SecondsLeft is an estimate from the pace so far; nil before the first node is
	// done.
	Since       time.Time `json:"since,omitzero"`
	SecondsLeft int64     `json:"secondsLeft,omitempty"`
	// Workloads are the unfinished ones.
	Workloads []rolloutwatch.Workload `json:"workloads"`
}

// Change is one past change.
type Change struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`
	// Revision is the number of the revision that was rolled out; 0 for other changes.
	Revision int `json:"revision,omitempty"`
}

// Overview returns the page. It returns an error only if the network itself cannot be read.
func (s Source) Overview(ctx context.Context) (Overview, error) {
	view, err := status.Read(ctx, s.Objects, s.Namespace, s.Now)
	if err != nil {
		return Overview{}, err
	}
	page := Overview{Status: view, Changes: []Change{}, Missing: slices.Clone(s.Missing)}
	if s.Report != nil {
		page.Findings = s.Report.Findings
	}
	workloads, err := rolloutwatch.Progress(ctx, s.Objects)
	if err != nil {
		page.Missing = append(page.Missing, fmt.Sprintf("the progress of rollouts is unknown: %v", err))
	}
	page.Rollout = rolloutOf(workloads, view, s.Now())
	revisions, err := history.Of(ctx, preview.Cluster{Client: s.Objects, Namespace: s.Namespace})
	if err != nil {
		page.Missing = append(page.Missing, fmt.Sprintf("the history is unknown: %v", err))
	}
	var network operatorv1.Network
	if err := s.Objects.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); err == nil {
		page.Changes = append(page.Changes, conditionChanges(network.Status.Conditions, s.Now())...)
	}
	page.Changes = append(page.Changes, revisionChanges(revisions, s.Now())...)
	var events corev1.EventList
	if err := s.list(ctx, &events); err != nil {
		page.Missing = append(page.Missing, fmt.Sprintf("repairs on nodes are unknown: %v", err))
	}
	page.Changes = append(page.Changes, repairs(events.Items, s.Now())...)
	slices.SortStableFunc(page.Changes, func(a, b Change) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.What, b.What)) })
	page.Sentence = sentence(view, page.Rollout)
	return page, nil
}

// sentence summarizes the state of the network. The cause is the message of the condition.
func sentence(v status.View, r *Rollout) string {
	if v.Network == nil {
		return "There is no network: Network.operator.openshift.io/cluster does not exist."
	}
	text := fmt.Sprintf("The %s network is %s", cmp.Or(v.Network.Type, "unnamed"), v.State)
	if r != nil {
		text += fmt.Sprintf(" (%d %% of its pods are up to date)", r.Percent)
	}
	cause := v.Why
	for _, c := range v.Components {
		if cause == "" && c.Name == "network" {
			cause = c.Message
		}
	}
	// A condition has a line for each cause.
	if cause = strings.ReplaceAll(strings.TrimSpace(cause), "\n", "; "); cause != "" {
		return text + ": " + strings.TrimSuffix(cause, ".") + "."
	}
	return text + "."
}

// rolloutOf sums up the unfinished workloads; nil if there are none.
func rolloutOf(workloads []rolloutwatch.Workload, v status.View, now time.Time) *Rollout {
	r := &Rollout{Workloads: []rolloutwatch.Workload{}}
	for _, w := range workloads {
		r.Done, r.Nodes = r.Done+w.Done, r.Nodes+w.Nodes
		if !w.Finished() {
			r.Workloads = append(r.Workloads, w)
		}
	}
	if len(r.Workloads) == 0 {
		return nil
	}
	if r.Nodes > 0 {
		r.Percent = int(int64(r.Done) * 100 / int64(r.Nodes))
	}
	for _, c := range v.Components {
		if c.Name == "network" && c.Progressing == string(osv1.ConditionTrue) {
			r.Since = c.Since
		}
	}
	var done, left int32
	for _, w := range r.Workloads {
		done, left = done+w.Done, left+w.Nodes-w.Done
	}
	if took := now.Sub(r.Since); !r.Since.IsZero() && done > 0 && took > 0 {
		r.SecondsLeft = int64(math.Ceil(took.Seconds() * float64(left) / float64(done)))
	}
	return r
}

// conditionChanges returns the conditions of the network as a whole that changed in the last day.
func conditionChanges(conditions []osv1.OperatorCondition, now time.Time) []Change {
	var all []Change
	for _, c := range conditions {
		if now.Sub(c.LastTransitionTime.Time) > recent || !slices.Contains([]string{"Available", "Progressing", "Degraded"}, c.Type) {
			continue
		}
		what := fmt.Sprintf("%s became %s", c.Type, c.Status)
		if !decided.IsAsExpected(c) {
			what += ": " + c.Message
		}
		all = append(all, Change{Time: c.LastTransitionTime.UTC(), What: what})
	}
	return all
}

// revisionChanges returns the revisions of the last day.
func revisionChanges(revisions []history.Entry, now time.Time) []Change {
	var all []Change
	for _, r := range revisions {
		if now.Sub(r.Time) > recent {
			continue
		}
		what := fmt.Sprintf("revision %d: %s", r.Number, r.OutcomeText())
		if names := r.ChangedNames(); len(names) > 0 {
			what += "; changed: " + strings.Join(names, ", ")
		}
		if r.By != "" {
			what += "; by " + r.By
		}
		all = append(all, Change{Time: r.Time.UTC(), What: what, Revision: r.Number})
	}
	return all
}

// repairs returns the settings of nodes that agents restore repeatedly.
func repairs(events []corev1.Event, now time.Time) []Change {
	var all []Change
	for _, f := range fightevents.Read(events, now) {
		all = append(all, Change{Time: f.Last.UTC(), What: fmt.Sprintf("node %s, repaired %d times: %s", f.Node, f.Number, f.Note)})
	}
	return all
}
