package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// The states of a check.
const (
	CheckReached = "reached"
	CheckFailed  = "failed"
	// CheckUnknown is a check without a result.
	CheckUnknown = "unknown"
)

// Paths are the results of the continuous connectivity checks.
type Paths struct {
	// Sources are the nodes that check, sorted.
	Sources []string `json:"sources"`
	// Targets are the checked targets, failing ones first.
	Targets []string `json:"targets"`
	// Checks are ordered by target and source.
	Checks []Check `json:"checks"`
	Failed int     `json:"failed"`
	// Notes are sentences, for example why there are no checks.
	Notes []string `json:"notes,omitempty"`
}

// Check is the check of one target by one source.
type Check struct {
	Name string `json:"name"`
	// Source is a node, Target a node if Node is true, and another target, such as a load balancer of the API server, otherwise.
	Source   string `json:"source"`
	Target   string `json:"target"`
	Node     bool   `json:"node,omitempty"`
	Endpoint string `json:"endpoint"`
	State    string `json:"state"`
	// Since is the time of the last transition of the state; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Hop is the failing step: the lookup of the name, or the connection. Message is its error.
	Hop     string `json:"hop,omitempty"`
	Message string `json:"message,omitempty"`
	// Milliseconds is the duration of the last connection.
	Milliseconds float64 `json:"milliseconds,omitempty"`
}

// Paths returns the page.
func (s Source) Paths(ctx context.Context) (Paths, error) {
	checks, err := s.checks(ctx)
	if err != nil {
		return Paths{}, err
	}
	page := Paths{Sources: []string{}, Targets: []string{}, Checks: checks}
	failed := map[string]bool{}
	for _, c := range checks {
		page.Sources, page.Targets = append(page.Sources, c.Source), append(page.Targets, c.Target)
		if c.State == CheckFailed {
			page.Failed++
			failed[c.Target] = true
		}
	}
	slices.Sort(page.Sources)
	page.Sources = slices.Compact(page.Sources)
	rank := func(target string) int {
		if failed[target] {
			return 0
		}
		return 1
	}
	slices.SortFunc(page.Targets, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	page.Targets = slices.Compact(page.Targets)
	if len(checks) == 0 {
		page.Notes = append(page.Notes, "there are no connectivity checks: they are disabled, have not begun, or this user has no permission to read them")
	}
	return page, nil
}

// checks returns all connectivity checks of the operator.
func (s Source) checks(ctx context.Context) ([]Check, error) {
	checks := []Check{}
	err := s.eachCheck(ctx, func(o *operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck, e connectivity.Ends) {
		checks = append(checks, checkOf(o, e))
	})
	slices.SortFunc(checks, func(a, b Check) int { return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Source, b.Source)) })
	return checks, err
}

// eachCheck calls a function for each connectivity check of the operator. The object must not be changed.
func (s Source) eachCheck(ctx context.Context, each func(*operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck, connectivity.Ends)) error {
	var list operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckList
	if err := s.list(ctx, &list); err != nil {
		return fmt.Errorf("list connectivity checks: %w", err)
	}
	var nodes corev1.NodeList
	if err := s.list(ctx, &nodes); err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	var names []string
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	ends := connectivity.EndsOf(names)
	for i := range list.Items {
		if e, ok := ends(list.Items[i].Name); ok {
			each(&list.Items[i], e)
		}
	}
	return nil
}

// unreachable returns a sentence for each node that pods cannot reach, with the rules of the operator. Among pods are those of the sources.
func (s Source) unreachable(ctx context.Context, pods []corev1.Pod) (map[string]string, error) {
	ready := map[string]bool{}
	for i := range pods {
		if p := &pods[i]; p.Namespace == connectivity.Namespace {
			ready[p.Name] = podReady(p)
		}
	}
	var results []connectivity.Result
	err := s.eachCheck(ctx, func(o *operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck, e connectivity.Ends) {
		target := connectivity.Target{Name: e.Target, Endpoint: o.Spec.TargetEndpoint}
		if e.Node {
			target.Name, target.Node = "", e.Target
		}
		results = append(results, connectivity.ResultOf(connectivity.Check{Name: o.Name, SourceNode: e.Source, SourcePod: o.Spec.SourcePod, Target: target}, o))
	})
	return connectivity.Summarize(results, ready, s.Now()).Unreachable(), err
}

func checkOf(o *operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck, e connectivity.Ends) Check {
	c := Check{Name: o.Name, Source: e.Source, Target: e.Target, Node: e.Node, Endpoint: o.Spec.TargetEndpoint, State: CheckUnknown}
	for _, condition := range o.Status.Conditions {
		if condition.Type != operatorcontrolplanev1alpha1.Reachable {
			continue
		}
		c.Since = condition.LastTransitionTime.UTC()
		switch condition.Status {
		case metav1.ConditionTrue:
			c.State = CheckReached
		case metav1.ConditionFalse:
			c.State, c.Message = CheckFailed, condition.Message
			c.Hop = "connection to " + c.Endpoint
			if strings.HasPrefix(condition.Reason, "DNS") {
				c.Hop = "lookup of the name in " + c.Endpoint
			}
		}
	}
	for _, entry := range slices.Concat(o.Status.Successes, o.Status.Failures) {
		if c.Milliseconds == 0 && entry.Success && entry.Reason == operatorcontrolplanev1alpha1.LogEntryReasonTCPConnect {
			c.Milliseconds = float64(entry.Latency.Microseconds()) / 1000
		}
	}
	return c
}
