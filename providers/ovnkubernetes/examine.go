package ovnkubernetes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
)

var _ provider.Examiner = OVNKubernetes{}

const (
	// compareConcurrency is the number of nodes compared at the same time.
	compareConcurrency = 32
	// maxItems is the maximum number of items in a symptom.
	maxItems = 5
)

// Examine compares both OVN databases with the Kubernetes API on the leading master, compares ports, flows and interfaces on every Ready node, and compares
// the reports of IPsec agents with the phase.
func (OVNKubernetes) Examine(ctx context.Context, at provider.TraceAccess) provider.Examination {
	e := &examination{access: at}
	group := errgroup.Group{}
	group.SetLimit(compareConcurrency)
	group.Go(func() error { e.compareIPsec(ctx); return nil })
	group.Go(func() error { e.compareMaster(ctx); return nil })
	var nodes corev1.NodeList
	if err := at.Objects.List(ctx, &nodes); err != nil {
		e.miss("nodes of OVN-Kubernetes", err)
	}
	for _, n := range nodes.Items {
		if status.NodeReady(&n) {
			group.Go(func() error {
				e.compareNode(ctx, n.Name)
				return nil
			})
		}
	}
	_ = group.Wait() // each comparison notes its own error
	slices.Sort(e.missing)
	return provider.Examination{Symptoms: symptoms(e.items), Missing: e.missing}
}

// examination collects the findings.
type examination struct {
	access provider.TraceAccess

	mu      sync.Mutex
	items   []item
	missing []string
}

// item is a finding with its node; node is empty for a finding in the cluster's databases.
type item struct {
	finding.Finding
	node string
}

func (e *examination) miss(what string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missing = append(e.missing, fmt.Sprintf("%s: %v", what, err))
}

// add adds the report of a comparison.
func (e *examination) add(what, node string, r finding.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range r.Findings {
		e.items = append(e.items, item{f, node})
	}
	for _, text := range r.Incomplete {
		e.missing = append(e.missing, what+": "+text)
	}
	if r.More > 0 {
		e.missing = append(e.missing, fmt.Sprintf("%s: findings omitted: %d", what, r.More))
	}
}

func (e *examination) compareMaster(ctx context.Context) {
	const what = "databases of OVN"
	node, err := leaderOf(ctx, e.access.Objects)
	if err != nil {
		e.miss(what, err)
		return
	}
	e.run(ctx, what, "", provider.TraceCommand{
		Namespace: agentconfig.Namespace, App: masterName, Node: node, Container: agentconfig.CommandMaster, Command: checkCommand(agentconfig.CommandCheckMaster),
	})
}

func (e *examination) compareNode(ctx context.Context, node string) {
	e.run(ctx, "node "+node, node, provider.TraceCommand{
		Namespace: agentconfig.Namespace, App: nodeName, Node: node, Container: agentconfig.CommandNode, Command: checkCommand(agentconfig.CommandCheckNode),
	})
}

func checkCommand(name string) []string {
	return []string{agentconfig.Script, name, "--" + agentconfig.FlagJSON}
}

// run runs a command that prints a finding.Report, and adds the report.
func (e *examination) run(ctx context.Context, what, node string, c provider.TraceCommand) {
	out, err := e.access.Run(ctx, c)
	if err != nil {
		e.miss(what, err)
		return
	}
	report, err := finding.Decode([]byte(out))
	if err != nil {
		e.miss(what, err)
		return
	}
	e.add(what, node, report)
}

func (e *examination) compareIPsec(ctx context.Context) {
	report, err := finding.Persistent(ctx, finding.Default(), func(ctx context.Context) (finding.Report, error) {
		s, err := observeIPsec(ctx, e.access.Objects, true)
		return finding.Report{Findings: s.findings()}, err
	})
	if err != nil {
		e.miss("reports of IPsec", err)
		return
	}
	e.add("reports of IPsec", "", report)
}

// findings returns nodes that have not reached the phase, and pairs of nodes without keys. It is nil while IPsec is off.
func (s ipsecState) findings() []finding.Finding {
	var out []finding.Finding
	if s.phase == "" {
		return nil
	}
	for _, n := range s.ready {
		if r := s.reports[n]; r.Phase != s.phase {
			out = append(out, finding.Finding{
				Kind: finding.Different, Place: finding.IPsec, Object: "node " + n, What: "the phase of the node",
				Detail: fmt.Sprintf("it is %s instead of %s", cmp.Or(string(r.Phase), "not reported"), s.phase),
			})
		}
	}
	if s.phase == agentconfig.PhasePlain {
		return out
	}
	effect := "packets between them are not encrypted"
	if s.phase == agentconfig.PhaseRequire {
		effect = "packets between them are dropped"
	}
	for _, pair := range s.withoutKeys() {
		out = append(out, finding.Finding{Kind: finding.Missing, Place: finding.IPsec, Object: "node " + pair, What: "keys", Detail: effect})
	}
	return out
}

// symptoms groups findings by kind and place.
func symptoms(items []item) []provider.Symptom {
	type group struct {
		place finding.Place
		kind  finding.Kind
	}
	named, causes := map[group][]string{}, map[group][]string{}
	var order []group
	for _, i := range items {
		g := group{i.Place, i.Kind}
		if named[g] == nil {
			order = append(order, g)
		}
		text := fmt.Sprintf("%s (%s)", i.What, i.Object)
		if i.node != "" {
			text += " on node " + i.node
		}
		named[g] = append(named[g], text)
		if i.Detail != "" && !slices.Contains(causes[g], i.Detail) {
			causes[g] = append(causes[g], i.Detail)
		}
	}
	slices.SortFunc(order, func(a, b group) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.place, b.place)) })
	var out []provider.Symptom
	for _, g := range order {
		slices.Sort(named[g])
		slices.Sort(causes[g])
		cause := phrase.Clauses(causes[g], maxItems)
		out = append(out, provider.Symptom{
			Severe: g.kind != finding.Stale, What: fmt.Sprintf("%s in OVN-Kubernetes' %s: %s", g.kind, g.place, phrase.Clauses(named[g], maxItems)),
			Cause: cmp.Or(cause, g.kind.Cause()), WayOut: g.place.WayOut(),
		})
	}
	return out
}
