package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// killInterval is the time between two kills of the containers of a DaemonSet.
const killInterval = 30 * time.Second

// DaemonSet identifies a DaemonSet of the cluster.
type DaemonSet struct {
	Namespace, Name string
}

// ParseDaemonSet parses NAMESPACE/NAME.
func ParseDaemonSet(s string) (DaemonSet, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return DaemonSet{}, fmt.Errorf("%q is no DaemonSet: give NAMESPACE/NAME, for example openshift-multus/multus", s)
	}
	return DaemonSet{Namespace: namespace, Name: name}, nil
}

// kills counts what was killed.
type kills struct {
	rounds, containers int
}

// withKills calls run while the containers of a DaemonSet are killed repeatedly, and prints how many were. Without a DaemonSet, it only calls run.
func (l *Lab) withKills(ctx context.Context, d *DaemonSet, run func() error) error {
	if d == nil {
		return run()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var k kills
	done := make(chan error, 1)
	go func() {
		var err error
		k, err = l.killRepeatedly(ctx, *d)
		done <- err
	}()
	err := run()
	cancel()
	err = errors.Join(err, <-done)
	fmt.Fprintf(l.host.Out, "killed %d containers of DaemonSet %s/%s, at %d times\n", k.containers, d.Namespace, d.Name, k.rounds)
	return err
}

// killRepeatedly kills the containers of a DaemonSet on all nodes, at once and then in intervals, until the context is done. It ends
// with an error if the DaemonSet has no pods.
func (l *Lab) killRepeatedly(ctx context.Context, d DaemonSet) (kills, error) {
	var k kills
	tick := time.NewTicker(killInterval)
	defer tick.Stop()
	for {
		killed, err := l.killContainers(ctx, d)
		if ctx.Err() != nil {
			return k, nil
		}
		if err != nil {
			return k, fmt.Errorf("kill the containers of DaemonSet %s/%s: %w", d.Namespace, d.Name, err)
		}
		k.rounds, k.containers = k.rounds+1, k.containers+killed
		select {
		case <-ctx.Done():
			return k, nil
		case <-tick.C:
		}
	}
}

// killContainers sends SIGKILL to all processes of the containers of a DaemonSet, and returns how many containers it killed. It then deletes their pods
// without a grace period: the kubelet starts new pods at once, but delays the restart of a container that ends repeatedly, up to five minutes.
func (l *Lab) killContainers(ctx context.Context, d DaemonSet) (int, error) {
	out, err := l.Kubectl(ctx, nil, "get", "pods", "--namespace="+d.Namespace, "--output=json")
	if err != nil {
		return 0, err
	}
	var pods corev1.PodList
	if err := json.Unmarshal(out, &pods); err != nil {
		return 0, fmt.Errorf("decode the pods: %w", err)
	}
	killed, found := 0, false
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !d.owns(pod) {
			continue
		}
		found = true
		for _, id := range runningContainers(pod) {
			// A container may have ended, or its task may not have started yet.
			if _, err := l.output(ctx, pod.Spec.NodeName, "ctr", "--namespace", imagesNamespace, "tasks", "kill", "--all", "--signal", "SIGKILL", id); err == nil {
				killed++
			}
		}
		if _, err := l.Kubectl(ctx, nil, "delete", "pod", pod.Name, "--namespace="+d.Namespace, "--ignore-not-found", "--grace-period=0", "--force", "--wait=false"); err != nil {
			return killed, err
		}
	}
	if !found {
		return 0, errors.New("it has no pods")
	}
	return killed, nil
}

func (d DaemonSet) owns(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet" && owner.Name == d.Name
}

// runningContainers returns the IDs that the container runtime has for the running containers of a pod.
func runningContainers(pod *corev1.Pod) []string {
	var ids []string
	for _, c := range pod.Status.ContainerStatuses {
		if _, id, ok := strings.Cut(c.ContainerID, "://"); ok && c.State.Running != nil {
			ids = append(ids, id)
		}
	}
	return ids
}
