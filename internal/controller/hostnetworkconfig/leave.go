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

// leaving returns the roles whose couriers have files on nodes that no one asks for any more. A config that is not valid asks
// for what was made of it before.
func leaving(w world, configs []roleConfig) []string {
	asked := map[string]bool{}
	for _, config := range configs {
		if len(config.wrong) > 0 || len(config.rendered.Files) > 0 {
			asked[canonicalRole(config.Spec.Role)] = true
		}
	}
	var out []string
	for key, have := range w.There {
		role, courier := strings.CutPrefix(key.name, courierPrefix)
		if key.kind.Kind == "DaemonSet" && courier && have.GetAnnotations()[annotationFiles] != "" && !asked[role] {
			out = append(out, role)
		}
	}
	slices.Sort(out)
	return out
}

// leave returns the couriers of roles that are left, while they have something to remove: the last of them goes when the
// last node has said that nothing is left. A node that is off is waited for, and forgotten when its Node is deleted.
func (c *Controller) leave(w world, roles, configured []string) (all []object, err error) {
	for _, role := range roles {
		if c.Image == "" || w.left(role, configured) {
			continue
		}
		d, err := c.withdrawing(role, configured, w.PullSecret)
		if err != nil {
			return nil, err
		}
		made, err := manifest.New(d, manifest.Policy{})
		if err != nil {
			return nil, err
		}
		all = append(all, c.stamped(made, w.There[courierKey(role)].GetLabels()[labelConfig]))
	}
	return all, nil
}

// left reports whether nothing of what was brought is on the nodes of a role.
func (w world) left(role string, configured []string) bool {
	return !slices.ContainsFunc(w.Nodes, func(n node) bool { return roleOf(n, configured) == role && !w.Reports[n.Name].Withdrawn })
}

func courierKey(role string) objectKey {
	return objectKey{kindDaemonSet(), nodereport.Namespace, courierPrefix + role}
}

// forget deletes the reports of nodes whose couriers are gone: they would be taken for news when there are couriers again.
func (c *Controller) forget(ctx context.Context, w world, role string, configured []string) error {
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
