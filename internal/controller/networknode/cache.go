package networknode

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
)

// cacheOptions returns the kinds that the controller reads from its own cache.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&networkoperatorv1.NetworkNode{}: {Transform: trim}}
}

// trim keeps the name and the status of a NetworkNode. Strings that many nodes have in common are shared, since there are thousands of nodes.
func trim(o any) (any, error) {
	n, ok := o.(*networkoperatorv1.NetworkNode)
	if !ok {
		return o, nil
	}
	kept := &networkoperatorv1.NetworkNode{ObjectMeta: metav1.ObjectMeta{Name: n.Name, ResourceVersion: n.ResourceVersion, DeletionTimestamp: n.DeletionTimestamp}, Status: n.Status}
	share(&kept.Status.Type)
	for i := range kept.Status.Agents {
		a := &kept.Status.Agents[i]
		share(&a.Namespace, &a.Name, &a.Image)
	}
	for i := range kept.Status.Conditions {
		c := &kept.Status.Conditions[i]
		share(&c.Type, &c.Reason, &c.Message)
		c.Status = unique.Make(c.Status).Value()
	}
	return kept, nil
}

// share replaces strings by shared copies.
func share(all ...*string) {
	for _, s := range all {
		*s = unique.Make(*s).Value()
	}
}
