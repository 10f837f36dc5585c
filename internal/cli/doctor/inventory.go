package doctor

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// readInventory finds the objects that the operator has applied and that do not exist. It skips Secrets, which it must not
// read, and kinds whose API is unavailable.
func (c *collector) readInventory(ctx context.Context, found *collected) {
	const name = "inventory of applied objects"
	cm, err := c.typed.CoreV1.ConfigMaps(c.namespace).Get(ctx, plan.InventoryName, metav1.GetOptions{})
	if err != nil {
		found.miss(name, err)
		return
	}
	inventory, err := plan.DecodeInventory(cm.Data)
	if err != nil {
		found.miss(name, err)
		return
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, e := range inventory {
		if e.Key.Group == "" && e.Key.Kind == "Secret" {
			continue
		}
		group.Go(func() error {
			exists, err := c.exists(ctx, e.Key, e.Version)
			found.miss(fmt.Sprintf("%s: %s", name, e.Key), err)
			if err == nil && !exists {
				found.mu.Lock()
				defer found.mu.Unlock()
				found.absent = append(found.absent, e.Key.String())
			}
			return nil
		})
	}
	_ = group.Wait() // each object that cannot be read is listed
	slices.Sort(found.absent)
}

// exists reports whether an object exists, or its API is unavailable.
func (c *collector) exists(ctx context.Context, key manifest.Key, version string) (bool, error) {
	mapping, err := c.mapper.RESTMapping(key.GroupKind(), version)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var r dynamic.ResourceInterface = c.api.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		r = c.api.Resource(mapping.Resource).Namespace(key.Namespace)
	}
	_, err = r.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// absentFindings reports objects of the network that do not exist. working is whether the operator works.
func absentFindings(absent []string, working bool) []Finding {
	if len(absent) == 0 {
		return nil
	}
	f := Finding{Severity: Critical, What: fmt.Sprintf("%d objects of the network do not exist: %s", len(absent), some(absent)),
		Cause: "deleted while the operator does not work", WayOut: "start the operator, which creates what is missing; cno diff shows everything that differs"}
	if working {
		f.Cause, f.WayOut = "deleted, or not created; Degraded or Progressing of Network/cluster has the error", "cno diff shows what the operator would create, and what keeps it from doing so"
	}
	if len(absent) == 1 {
		f.What = "an object of the network does not exist: " + absent[0]
	}
	return []Finding{f}
}
