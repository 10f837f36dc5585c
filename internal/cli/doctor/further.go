package doctor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// furtherNetworkFindings reports invalid NetworkAttachmentDefinitions and MultiNetworkPolicies, and definitions whose requirements some
// nodes do not meet. daemons are the pods that report about their nodes, guards the NetworkGuards, of
// which there is one.
func furtherNetworkFindings(definitions, policies, daemons, guards []map[string]any) []Finding {
	rule := appliedIsolation(guards)
	nodes := furtherNodes(daemons)
	return slices.Concat(
		invalidObjects(definitions, "NetworkAttachmentDefinitions", func(u *unstructured.Unstructured) []finding.Finding { return finding.ReadObject(u).Findings(nodes) }),
		invalidObjects(policies, "MultiNetworkPolicies", func(u *unstructured.Unstructured) []finding.Finding { return finding.ReadPolicy(u, rule) }),
	)
}

// appliedIsolation returns the isolation of the applied network. Without a NetworkGuard, no policy is reported because of it.
func appliedIsolation(guards []map[string]any) isolation.Rule {
	for _, g := range guards {
		if data, ok, err := unstructured.NestedStringMap(g, "data"); ok && err == nil {
			return isolation.FromData(data)
		}
	}
	return isolation.Rule{}
}

// furtherNodes returns the reports of nodes.
func furtherNodes(daemons []map[string]any) []finding.Node {
	var nodes []finding.Node
	seen := map[string]bool{"": true}
	for _, o := range daemons {
		u := &unstructured.Unstructured{Object: o}
		name, _, _ := unstructured.NestedString(o, "spec", "nodeName")
		r, ok := finding.Decode(u.GetAnnotations()[finding.Annotation])
		if !ok || seen[name] || u.GetLabels()["app"] != finding.App {
			continue
		}
		seen[name] = true
		nodes = append(nodes, finding.Node{Name: name, Report: r})
	}
	return nodes
}

// invalidObjects returns the findings about objects of one kind, one for each reason.
func invalidObjects(objects []map[string]any, kind string, read func(*unstructured.Unstructured) []finding.Finding) []Finding {
	named, count := map[finding.Reason][]string{}, map[finding.Reason]int{}
	for _, o := range objects {
		u := &unstructured.Unstructured{Object: o}
		counted := map[finding.Reason]bool{}
		for _, f := range read(u) {
			if !counted[f.Reason] {
				counted[f.Reason] = true
				count[f.Reason]++
			}
			if len(named[f.Reason]) < mostNamed {
				named[f.Reason] = append(named[f.Reason], fmt.Sprintf("%s/%s: %s", u.GetNamespace(), u.GetName(), f.Detail))
			}
		}
	}
	var all []Finding
	for _, reason := range finding.Reasons() {
		if count[reason] == 0 {
			continue
		}
		cause := strings.Join(named[reason], "; ")
		if more := count[reason] - len(named[reason]); more > 0 {
			cause += " " + phrase.More(more)
		}
		all = append(all, Finding{Warning, fmt.Sprintf("%s %s: %d; %s", kind, reason.Predicate(), count[reason], reason.Effect()), cause, reason.Remedy()})
	}
	return all
}
