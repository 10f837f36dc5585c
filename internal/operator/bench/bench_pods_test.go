package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// batch is how many objects one transaction of etcd writes: as many as it takes by default.
const batch = 100

// store writes objects to the API server's etcd itself, which takes seconds where requests take a quarter of an hour. Watches show
// them as they show all others.
type store struct {
	etcd *clientv3.Client
	b    *testing.B
	ops  []clientv3.Op
}

func (c *cluster) store(b *testing.B) *store {
	b.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Etcd}})
	if err != nil {
		b.Fatal(err)
	}
	return &store{etcd: etcd, b: b}
}

// put writes a pod, at the latest when close is called.
func (s *store) put(pod *corev1.Pod) {
	s.b.Helper()
	pod.APIVersion, pod.Kind, pod.ResourceVersion = "v1", "Pod", ""
	content, err := json.Marshal(pod)
	if err != nil {
		s.b.Fatal(err)
	}
	s.ops = append(s.ops, clientv3.OpPut("/registry/pods/"+pod.Namespace+"/"+pod.Name, string(content)))
	if len(s.ops) == batch {
		s.flush()
	}
}

func (s *store) flush() {
	s.b.Helper()
	if len(s.ops) == 0 {
		return
	}
	if _, err := s.etcd.Txn(context.Background()).Then(s.ops...).Commit(); err != nil {
		s.b.Fatal(err)
	}
	s.ops = nil
}

func (s *store) close() {
	s.b.Helper()
	s.flush()
	if err := s.etcd.Close(); err != nil {
		s.b.Error(err)
	}
}

// fleet is a DaemonSet of the network with its pods, one on each node.
type fleet struct {
	set  *appsv1.DaemonSet
	pods []*corev1.Pod
}

// seedPods makes the pods of all DaemonSets of the network, all of them ready, and others until there are as many as the
// flag sets.
func (c *cluster) seedPods(b *testing.B) []fleet {
	b.Helper()
	var sets appsv1.DaemonSetList
	if err := c.Client.List(b.Context(), &sets); err != nil {
		b.Fatal(err)
	}
	into := c.store(b)
	defer into.close()
	var fleets []fleet
	made := 0
	for i := range sets.Items {
		f := fleet{set: &sets.Items[i]}
		if len(f.set.Spec.Template.Spec.Containers) == 0 {
			b.Fatalf("%s has no template", f.set.Name)
		}
		for n := range *nodes {
			pod := podOf(f.set, n)
			into.put(pod)
			f.pods = append(f.pods, pod)
			made++
		}
		fleets = append(fleets, f)
	}
	for ; made < *pods; made++ {
		into.put(stranger(made))
	}
	return fleets
}

// podOf is the pod of a DaemonSet on a node as a kubelet fills it.
func podOf(set *appsv1.DaemonSet, n int) *corev1.Pod {
	pod := &corev1.Pod{Spec: *set.Spec.Template.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
		Namespace: set.Namespace, Name: fmt.Sprintf("%s-%05d", set.Name, n), UID: uuid.NewUUID(), CreationTimestamp: metav1.Now(),
		Labels: maps.Clone(set.Spec.Template.Labels), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, daemonSets)},
	}}
	pod.Labels["pod-template-generation"], pod.Labels["controller-revision-hash"] = fmt.Sprint(set.Generation), "5d4f7b6c9d"
	pod.Spec.NodeName = makeNode(n).Name
	become(pod, true)
	return pod
}

// become makes a pod ready, or not ready after its container has ended.
func become(pod *corev1.Pod, ready bool) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "172.16.0.1", PodIP: "172.16.0.1", StartTime: &pod.CreationTimestamp}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	answer, reason, message := corev1.ConditionTrue, "", ""
	if !ready {
		answer, reason, message = corev1.ConditionFalse, "ContainersNotReady", "containers with unready status: ["+pod.Spec.Containers[0].Name+"]"
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container"}}
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: answer, Reason: reason, Message: message, LastTransitionTime: metav1.Now()})
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: ready, State: state, ContainerID: "cri-o://" + string(pod.UID), ImageID: container.Image})
	}
}

// stranger is a pod that is none of the network's business.
func stranger(n int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("work-%06d", n), UID: types.UID(fmt.Sprintf("%032x", n)),
			CreationTimestamp: metav1.Now(), Labels: map[string]string{"app": "work"}},
		Spec: corev1.PodSpec{NodeName: makeNode(n % *nodes).Name, Containers: []corev1.Container{{Name: "work", Image: "localhost/work:v1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}},
	}
}
