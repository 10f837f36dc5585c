package operator

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestPodsOfAWorkloadShareEqualValues(t *testing.T) {
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
		t.Error("two pods of one workload have their own labels")
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

func TestOnlySelectedPodsAreVisited(t *testing.T) {
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

func TestTrimmedPodHasTheSameDiagnosis(t *testing.T) {
	since := metav1.NewTime(time.Unix(1e9, 0))
	ready := func(change func(*corev1.Pod)) *corev1.Pod {
		p := podOf("x", "a", map[string]string{"app": "x"})
		p.UID, p.Spec.NodeName, p.Status.Phase = "u", "node-1", corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
		change(p)
		return p
	}
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		small  bool
	}{
		"one that works":                       {func(*corev1.Pod) {}, true},
		"on the network of its node":           {func(p *corev1.Pod) { p.Spec.HostNetwork, p.Status.PodIPs = true, []corev1.PodIP{{IP: "192.0.2.1"}} }, true},
		"no one's, such as a probe":            {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"not ready: the cause is needed":       {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"being deleted: it is not ready to be": {func(p *corev1.Pod) { p.DeletionTimestamp = &since }, false},
		"crashes over and over":                {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 9}} }, false},
	} {
		kept, err := (&same{}).trimPod(ready(tt.change))
		if err != nil {
			t.Fatal(err)
		}
		w, small := kept.(*workingPod)
		if small != tt.small {
			t.Errorf("%s: kept as %T", name, kept)
			continue
		}
		if !small {
			continue
		}
		again := &corev1.Pod{Status: corev1.PodStatus{Reason: "of another", Conditions: make([]corev1.PodCondition, 2)}}
		w.fill(again)
		if diff := cmp.Diff(ready(tt.change), again); diff != "" {
			t.Errorf("%s: the trimmed pod has another diagnosis: %s", name, diff)
		}
	}
}

func TestNodesAreReadFromTheCacheWithoutCopies(t *testing.T) {
	informer := toolscache.NewSharedIndexInformer(nil, &corev1.Node{}, 0, toolscache.Indexers{})
	one := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	if err := informer.GetIndexer().Add(one); err != nil {
		t.Fatal(err)
	}
	nodes, err := nodesIn(indexed{SharedIndexInformer: informer})(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0] != one {
		t.Errorf("got %v, %v", nodes, err)
	}
}
