package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/plan"
	flannelrecord "github.com/cluster-network-operator/cno/providers/flannel/record"
)

// resources returns everything that the API server can list and delete.
func (c *cluster) resources() []schema.GroupVersionResource {
	c.Helper()
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(c.Config).ServerPreferredResources()
	if err != nil {
		c.Fatal(err)
	}
	var all []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			c.Fatal(err)
		}
		for _, r := range list.APIResources {
			// Events and leases record what happened, and that is not the same each time.
			verbs := strings.Join(r.Verbs, " ")
			if strings.Contains(verbs, "list") && strings.Contains(verbs, "delete") && r.Name != "events" && r.Name != "leases" && r.Name != "endpoints" {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}

// found is an object and where it was found.
type found struct {
	*unstructured.Unstructured
	in schema.GroupVersionResource
}

// keys returns the objects of the cluster by the kind that has them, as kind and name.
func (c *cluster) keys() map[schema.GroupVersionResource][]string {
	c.Helper()
	api := metadata.NewForConfigOrDie(c.Config)
	all := map[schema.GroupVersionResource][]string{}
	c.each(c.kinds, func(r schema.GroupVersionResource, keep func(func())) error {
		list, err := api.Resource(r).List(context.WithoutCancel(c.Context()), fromCache)
		if err != nil {
			return err
		}
		keep(func() {
			for i := range list.Items {
				all[r] = append(all[r], key(r, &list.Items[i]))
			}
		})
		return nil
	})
	return all
}

// existing returns the objects of the cluster as a set.
func (c *cluster) existing() map[string]bool {
	c.Helper()
	all := map[string]bool{}
	for _, keys := range c.keys() {
		for _, key := range keys {
			all[key] = true
		}
	}
	return all
}

// added returns all objects that came since the cluster was made, by kind and name. Most kinds have none, and lists of names
// cost a fraction of lists of objects.
func (c *cluster) added() map[string]found {
	c.Helper()
	var kinds []schema.GroupVersionResource
	for r, keys := range c.keys() {
		if slices.ContainsFunc(keys, func(key string) bool { return !c.base[key] }) {
			kinds = append(kinds, r)
		}
	}
	api := dynamic.NewForConfigOrDie(c.Config)
	all := map[string]found{}
	c.each(kinds, func(r schema.GroupVersionResource, keep func(func())) error {
		list, err := api.Resource(r).List(context.WithoutCancel(c.Context()), fromCache)
		if err != nil {
			return err
		}
		keep(func() {
			for i := range list.Items {
				if o := &list.Items[i]; !c.base[key(r, o)] {
					all[key(r, o)] = found{o, r}
				}
			}
		})
		return nil
	})
	return all
}

// fromCache has the API server list what its cache has.
var fromCache = metav1.ListOptions{ResourceVersion: "0"}

func key(r schema.GroupVersionResource, o metav1.Object) string {
	return fmt.Sprintf("%s %s/%s", r.GroupResource(), o.GetNamespace(), o.GetName())
}

// each calls a function for all kinds at once. What the function passes to keep runs alone. That a kind is no longer available, which was
// there a moment ago, is no error.
func (c *cluster) each(kinds []schema.GroupVersionResource, list func(r schema.GroupVersionResource, keep func(func())) error) {
	c.Helper()
	var mu sync.Mutex
	locked := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	var lists sync.WaitGroup
	for _, r := range kinds {
		lists.Go(func() {
			if err := list(r, locked); err != nil && !apierrors.IsNotFound(err) {
				c.Error(err)
			}
		})
	}
	lists.Wait()
}

// installed returns all objects that came since the cluster was made, as text, without what is another each time.
func (c *cluster) installed() map[string]string {
	c.Helper()
	all := c.added()
	random := randomIn(all)
	state := map[string]string{}
	for key, o := range all {
		if o.GetDeletionTimestamp() != nil || o.in.Resource == "networks" {
			continue
		}
		text, err := json.MarshalIndent(settled(o.Unstructured), "", " ")
		if err != nil {
			c.Fatal(err)
		}
		state[key] = string(text)
		if without := random.Replace(state[key]); without != state[key] || strings.HasPrefix(key, "deployments.apps "+flannelrecord.Namespace) {
			state[key] = hashOf.ReplaceAllString(without, "$1…")
		}
	}
	return state
}

// hashOf finds hashes of what is another each time; that of a member's Deployment is of its configuration.
var hashOf = regexp.MustCompile(`("[^"]*hash": ")[0-9a-f]+`)

// randomIn replaces what is random in the cluster: the token of an etcd, and what stands for its certificates.
func randomIn(all map[string]found) *strings.Replacer {
	var members struct {
		Token, ClientTrust string
		Members            []struct{ Trust string }
	}
	if record, ok := all["configmaps "+flannelrecord.Namespace+"/"+flannelrecord.Etcd.MembersConfigMap()]; ok {
		text, _, _ := unstructured.NestedString(record.Object, "data", etcdcluster.MembersKey)
		_ = json.Unmarshal([]byte(text), &members) // nothing is random in what cannot be read
	}
	var pairs []string
	add := func(value, name string) {
		if value != "" {
			pairs = append(pairs, value, name)
		}
	}
	add(members.Token, "TOKEN")
	add(members.ClientTrust, "TRUST")
	for _, m := range members.Members {
		add(m.Trust, "TRUST")
	}
	if members.Token != "" { // YAML quotes one that looks like a number
		pairs = append([]string{`\"` + members.Token + `\"\n`, `TOKEN\n`}, pairs...)
	}
	return strings.NewReplacer(pairs...)
}

// settled returns what of an object does not depend on when and by how many writes it came.
func settled(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deprecated.daemonset.template.generation")
	delete(o.Object, "status")
	data, _ := o.Object["data"].(map[string]any)
	switch {
	case o.GetName() == applied.ConfigMapName:
		// The number of the revision is that of the attempt.
		maps.DeleteFunc(data, func(key string, _ any) bool { return key != "applied" && key != "state" })
	case o.GetName() == plan.InventoryName:
		o.Object["data"] = entries(data)
	case o.GetKind() == "Secret", o.GetNamespace() == operatorNamespace && o.GetKind() == "ConfigMap":
		for key := range data { // certificates and times
			data[key] = "…"
		}
	}
	return o.Object
}

// entries returns what an inventory names.
func entries(data map[string]any) []string {
	content := map[string]string{}
	for key, value := range data {
		content[key] = fmt.Sprint(value)
	}
	inventory, err := plan.DecodeInventory(content)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, e := range inventory {
		all = append(all, fmt.Sprintf("%s with UID: %t, adopted: %t", e.Key, e.UID != "", e.Adopted))
	}
	return all
}

// clear removes everything that came since the cluster was made.
func (c *cluster) clear() {
	c.Helper()
	api := dynamic.NewForConfigOrDie(c.Config)
	c.eventually("everything that came is deleted", func() string {
		left := c.added()
		var deletions sync.WaitGroup
		for _, o := range left {
			deletions.Go(func() { c.remove(api.Resource(o.in).Namespace(o.GetNamespace()), o) })
		}
		deletions.Wait()
		return strings.Join(slices.Sorted(maps.Keys(left)), ", ")
	})
}

// remove deletes an object in spite of its finalizers, as far as that can be done at once.
func (c *cluster) remove(in dynamic.ResourceInterface, o found) {
	ctx, now := context.WithoutCancel(c.Context()), int64(0)
	if len(o.GetFinalizers()) > 0 {
		o.SetFinalizers(nil)
		_, _ = in.Update(ctx, o.Unstructured, metav1.UpdateOptions{}) // or the next time
	}
	if err := in.Delete(ctx, o.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		c.Error(err)
	}
	if o.GetKind() == "Namespace" {
		o.Object["spec"] = map[string]any{"finalizers": []any{}}
		_, _ = in.Update(ctx, o.Unstructured, metav1.UpdateOptions{}, "finalize") // or the next time
	}
}

// forget deletes what clear keeps: what reports what happened.
func (c *cluster) forget() {
	c.Helper()
	ctx := context.WithoutCancel(c.Context())
	for _, err := range []error{
		c.Client.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(operatorNamespace)),
		c.Client.DeleteAllOf(ctx, &eventsv1.Event{}, client.InNamespace(metav1.NamespaceDefault)),
		c.Client.DeleteAllOf(ctx, &eventsv1.Event{}, client.InNamespace(operatorNamespace)),
	} {
		if err != nil {
			c.Error(err)
		}
	}
}
