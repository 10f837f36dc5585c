package operator

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func podOf(owner, name string, marks map[string]string) *corev1.Pod {
	yes := true
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: maps.Clone(marks), OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "DaemonSet", Name: owner, UID: types.UID(owner), Controller: &yes}}}}
}

func TestPodsOfAWorkloadShareWhatIsTheSame(t *testing.T) {
	s := &same{}
	trim := func(p *corev1.Pod) *corev1.Pod {
		t.Helper()
		want := p.DeepCopy()
		kept, err := s.trimPod(p)
		if err != nil {
			t.Fatal(err)
		}
		pod := kept.(*corev1.Pod)
		if !maps.Equal(pod.Labels, want.Labels) || !reflect.DeepEqual(pod.OwnerReferences, want.OwnerReferences) {
			t.Fatalf("%s was given what another has: %v", want.Name, pod.ObjectMeta)
		}
		return pod
	}
	shared := func(a, b *corev1.Pod) bool {
		return reflect.ValueOf(a.Labels).Pointer() == reflect.ValueOf(b.Labels).Pointer()
	}
	before, after := map[string]string{"app": "x", "generation": "1"}, map[string]string{"app": "x", "generation": "2"}
	a, b, next, other := trim(podOf("x", "a", before)), trim(podOf("x", "b", before)), trim(podOf("x", "c", after)), trim(podOf("y", "d", before))
	if !shared(a, b) {
		t.Error("two pods of one workload have labels of their own")
	}
	if shared(a, next) || shared(a, other) {
		t.Error("pods of another generation or of another workload share labels")
	}
	for i := range 10 * workloads {
		trim(podOf("x"+string(rune('a'+i)), "z", before))
	}
	if len(s.known) > workloads {
		t.Errorf("%d workloads are remembered", len(s.known))
	}
}

// indexed is a cache that has only an index of pods.
type indexed struct {
	cache.Cache
	toolscache.SharedIndexInformer
}

func (i indexed) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return i.SharedIndexInformer, nil
}

func TestOnlyThePodsThatAreSelectedAreLookedAt(t *testing.T) {
	informer := toolscache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	elsewhere := podOf("x", "elsewhere", map[string]string{"app": "x"})
	elsewhere.Namespace = "other"
	first := podOf("x", "first", map[string]string{"app": "x"})
	for _, p := range []*corev1.Pod{first, podOf("x", "second", map[string]string{"app": "x"}), podOf("y", "third", map[string]string{"app": "y"}), elsewhere} {
		if err := informer.GetIndexer().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	look := podsIn(indexed{SharedIndexInformer: informer})
	var names []string
	err := look(t.Context(), "ns", labels.SelectorFromSet(labels.Set{"app": "x"}), func(p *corev1.Pod) {
		names = append(names, p.Name)
		if p.Name == "first" && p != first {
			t.Error("the pod is a copy")
		}
	})
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"first", "second"}) {
		t.Errorf("got %q, %v", names, err)
	}
	if err := look(t.Context(), "ns", labels.Nothing(), func(p *corev1.Pod) { t.Errorf("%s is looked at", p.Name) }); err != nil {
		t.Error(err)
	}
}
