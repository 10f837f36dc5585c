package operator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// ourConfigMap is one with the operator's label.
func ourConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}}}
}

// TestOnlyWantedOperandsAreWatched: the label alone neither fires an event nor is remembered.
func TestOnlyWantedOperandsAreWatched(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	counted := &counter{}
	config := rest.CopyConfig(c.Config)
	config.Wrap(counted.wrap)
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var fired atomic.Int32
	o := newOperands(config, cache.Options{Scheme: c.Client.Scheme(), Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))},
		nil, func(bool) { fired.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	tenant := c.Namespace(t)
	key := func(namespace, name string) manifest.Key {
		return manifest.Key{Kind: "ConfigMap", Namespace: namespace, Name: name}
	}
	wanted, foreign, other := ourConfigMap(operatorNamespace, "wanted"), ourConfigMap(operatorNamespace, "foreign"), ourConfigMap(tenant, "wanted")
	if err := o.Watch(ctx, []network.Operand{{Key: key(operatorNamespace, "wanted"), Version: "v1"}, {Key: key(operatorNamespace, "later"), Version: "v1"},
		{Key: manifest.Key{Kind: "Namespace", Name: tenant}, Version: "v1"}}); err != nil {
		t.Fatal(err)
	}
	for _, cm := range []*corev1.ConfigMap{foreign, other, wanted} {
		c.create(cm)
	}
	c.eventually("what is wanted is seen", func() bool { return o.Seen(key(operatorNamespace, "wanted")) == wanted.ResourceVersion })
	if n := fired.Load(); n != 1 {
		t.Errorf("%d events, want only that of what is wanted", n)
	}
	if seen := o.Seen(key(operatorNamespace, "foreign")); seen != "" {
		t.Error("the version of a foreign object is remembered:", seen)
	}
	if _, found := o.Live(key(tenant, "wanted")); found {
		t.Error("an object of another namespace is kept")
	}
	if _, found := o.Live(key(operatorNamespace, "wanted")); !found {
		t.Error("what is wanted is not kept")
	}

	later := ourConfigMap(operatorNamespace, "later")
	c.create(later)
	if err := c.Client.Delete(ctx, later); err != nil {
		t.Fatal(err)
	}
	c.eventually("the deletion of what is wanted is seen", func() bool { return o.Seen(key(operatorNamespace, "later")) != "" && fired.Load() == 3 })
	if err := o.Watch(ctx, []network.Operand{{Key: key(operatorNamespace, "wanted"), Version: "v1"}}); err != nil {
		t.Fatal(err)
	}
	if seen := o.Seen(key(operatorNamespace, "later")); seen != "" {
		t.Error("what is not wanted any more is still remembered:", seen)
	}
	for _, request := range counted.snapshot() {
		if strings.HasPrefix(request, "GET /api/v1/configmaps") {
			t.Error("ConfigMaps of all namespaces are read:", request)
		}
	}
}

// TestTheOperatorReadsNoNamespaceOfATenant: of namespaced objects with the operator's label, only those of its own namespaces are read
// by the whole operator, but for pods, of which little is kept.
func TestTheOperatorReadsNoNamespaceOfATenant(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	r := c.start()
	c.create(newNetwork())
	c.eventually("it is applied", c.has("backend", "host-gw"))
	r.http.settled(t)
	namespaced := map[string]bool{"configmaps": true, "daemonsets": true, "serviceaccounts": true, "deployments": true}
	for _, request := range r.http.snapshot() {
		_, path, _ := strings.Cut(request, " ")
		path, query, _ := strings.Cut(path, "?")
		resource := path[strings.LastIndex(path, "/")+1:]
		if strings.Contains(query, "managed-by") && namespaced[resource] && !strings.Contains(path, "/namespaces/") {
			t.Error(request)
		}
	}
	var maps corev1.ConfigMapList
	if err := c.Client.List(t.Context(), &maps, client.InNamespace(fakeNamespace), client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy})}); err != nil || len(maps.Items) == 0 {
		t.Errorf("operands have no label: %v", err)
	}
}
