package hostnetworkconfig

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// nodeState is the state of a node for a rollout.
type nodeState struct {
	// host is the state of the node without the rollout.
	host   networkv1.HostStatus
	report nodereport.Report
	ready  bool
}

// live reports whether changed documents are applied on running nodes.
func live(config *networkv1.HostNetworkConfig) bool {
	return config.Spec.Rollout != nil && config.Spec.Rollout.Strategy == networkv1.RolloutLive
}

// rollOut returns the requests to nodes, and updates each node's state. current are the existing requests; unanswered ones stay. Nodes
// start in the order of their names, at most r.MaxUnavailable at a time, which includes nodes that are not ready. stop is the reason why no
// further node starts after a failure.
func rollOut(r networkv1.Rollout, nodes []nodeState, current nodereport.Requests) (nodereport.Requests, string) {
	requests := nodereport.Requests{}
	var failed []string
	busy, limit := 0, max(1, int(r.MaxUnavailable))
	for i := range nodes {
		n := &nodes[i]
		want := nodereport.Request{File: n.host.File, SHA256: n.host.SHA256, Attempt: r.Attempt}
		if current[n.host.Node] == want && !n.report.Answered(want) && n.host.Result != networkv1.Applied {
			requests[n.host.Node] = want
			n.host.Result, n.host.Message = networkv1.Applying, fmt.Sprintf("the node was asked to apply %s", n.host.File)
		}
		switch {
		case n.host.Result == networkv1.Applying, !n.ready:
			busy++
		case (n.host.Result == networkv1.RolledBack || n.host.Result == networkv1.Failed) && n.report.Answered(want):
			failed = append(failed, n.host.Node)
		}
	}
	stop := ""
	if len(failed) > 0 {
		stop = fmt.Sprintf("the rollout has stopped because %s could not apply the document; to continue, change the document or spec.rollout.attempt", strings.Join(failed, ", "))
	}
	for i := range nodes {
		n := &nodes[i]
		want := nodereport.Request{File: n.host.File, SHA256: n.host.SHA256, Attempt: r.Attempt}
		if !eligible(*n, want) {
			continue
		}
		switch {
		case !n.ready:
			n.host.Result, n.host.Message = networkv1.Pending, "the node is not ready; it applies its document when it is ready, or at its next boot"
		case stop != "":
			n.host.Result, n.host.Message = networkv1.Pending, stop
		case busy >= limit:
			n.host.Result, n.host.Message = networkv1.Pending, fmt.Sprintf("the node waits: %d of at most %d nodes are unavailable", busy, limit)
		default:
			busy++
			requests[n.host.Node] = want
			n.host.Result, n.host.Message = networkv1.Applying, fmt.Sprintf("the node was asked to apply %s", n.host.File)
		}
	}
	return requests, stop
}

// eligible reports whether a node can be asked to apply its document: host-network has run since the node's boot, and has reported another
// document or attempt.
func eligible(n nodeState, want nodereport.Request) bool {
	switch n.host.Result {
	case networkv1.Applied, networkv1.Applying:
		return false
	}
	return want.File != "" && n.report.Delivery == "" && n.report.Result != "" && !n.report.Answered(want)
}

// readRequests reads the existing requests of live rollouts, by role.
func (c *Controller) readRequests(ctx context.Context, w *input) error {
	w.Requests = map[string]nodereport.Requests{}
	for i := range w.Configs {
		if !live(&w.Configs[i]) {
			continue
		}
		role := canonicalRole(w.Configs[i].Spec.Role)
		var cm corev1.ConfigMap
		key := client.ObjectKey{Namespace: nodereport.Namespace, Name: nodereport.RequestsName(role)}
		if err := c.Live.Get(ctx, key, &cm); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("read requests to nodes of role %s: %w", role, err)
		}
		requests, err := nodereport.DecodeRequests([]byte(cm.Data[nodereport.RequestsKey]))
		if err != nil {
			c.Log.Warn("requests are unreadable and will be rewritten", "configMap", key.Name, "error", err)
			continue
		}
		w.Requests[role] = requests
	}
	return nil
}

// requestsObject returns the ConfigMap with the requests to the nodes of a config.
func (c *Controller) requestsObject(config roleConfig, requests nodereport.Requests) (object, error) {
	data, err := requests.Encode()
	if err != nil {
		return object{}, err
	}
	name := nodereport.RequestsName(canonicalRole(config.Spec.Role))
	made, err := manifest.New(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: nodereport.Namespace}, Data: data}, manifest.Policy{})
	if err != nil {
		return object{}, err
	}
	o := c.withLabels(made, config.Name)
	o.transient = true
	return o, nil
}
