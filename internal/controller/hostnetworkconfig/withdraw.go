package hostnetworkconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// abandonedRoles returns the roles whose sync agents have installed files that no config requests. An invalid config requests its previous
// files.
func abandonedRoles(w input, configs []roleConfig) []string {
	current := map[string]bool{}
	for _, config := range configs {
		if len(config.problems) > 0 || len(config.rendered.Files) > 0 {
			current[canonicalRole(config.Spec.Role)] = true
		}
	}
	var out []string
	for key, live := range w.Live {
		role, isAgent := strings.CutPrefix(key.name, agentPrefix)
		if key.kind.Kind == "DaemonSet" && isAgent && live.GetAnnotations()[annotationFiles] != "" && !current[role] {
			out = append(out, role)
		}
	}
	slices.Sort(out)
	return out
}

// withdraw returns the sync agents of abandoned roles, until all nodes have reported that the files are removed. An unreachable node is waited
// for until its Node is deleted.
func (c *Controller) withdraw(w input, roles, configured []string) (all []object, err error) {
	for _, role := range roles {
		if c.Image == "" || w.clean(role, configured) {
			continue
		}
		d, err := c.withdrawDaemonSet(role, configured, w.PullSecret)
		if err != nil {
			return nil, err
		}
		made, err := manifest.New(d, manifest.Policy{})
		if err != nil {
			return nil, err
		}
		all = append(all, c.withLabels(made, w.Live[agentKey(role)].GetLabels()[labelConfig]))
	}
	return all, nil
}

// clean reports whether no installed files are left on the nodes of a role.
func (w input) clean(role string, configured []string) bool {
	return !slices.ContainsFunc(w.Nodes, func(n node) bool { return roleOf(n, configured) == role && !w.Reports[n.Name].Withdrawn })
}

func agentKey(role string) objectKey {
	return objectKey{kindDaemonSet(), nodereport.Namespace, agentPrefix + role}
}

// deleteReports deletes the reports of nodes whose sync agents were deleted, because they would be outdated for new sync agents.
func (c *Controller) deleteReports(ctx context.Context, w input, role string, configured []string) error {
	for _, n := range w.Nodes {
		if _, reported := w.Reports[n.Name]; !reported || roleOf(n, configured) != role {
			continue
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: nodereport.Name(n.Name), Namespace: nodereport.Namespace}}
		if err := c.Client.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the report of node %s: %w", n.Name, err)
		}
	}
	return nil
}
