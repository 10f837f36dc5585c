package connectivity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/netprobe"
)

// pod returns a pod that is bound to a node, without the scheduler.
func (s *fixture) pod(name, node string, onHost bool, args []string) *corev1.Pod {
	now, yes, no, unprivileged := int64(0), true, false, int64(65534)
	meta := metav1.ObjectMeta{Namespace: s.namespace, GenerateName: name + "-", Labels: map[string]string{"app": name}}
	if s.run != "" {
		meta.GenerateName, meta.Labels = "cno-connectivity-"+meta.GenerateName, map[string]string{label: s.run}
		meta.Annotations = map[string]string{wire.AnnotationNetworks: s.network}
	}
	return &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			ImagePullSecrets: s.pullSecrets,
			NodeName:         node, HostNetwork: onHost, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &now,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &unprivileged, RunAsGroup: &unprivileged, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "c", Image: s.image, ImagePullPolicy: s.pull, Args: args, SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
		},
	}
}

// serving reports whether a server runs, and has an address.
func serving(p *corev1.Pod) bool {
	return len(p.Status.ContainerStatuses) > 0 && p.Status.PodIP != "" &&
		!slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running == nil })
}

func addressesOf(p *corev1.Pod) []string {
	var addresses []string
	for _, ip := range p.Status.PodIPs {
		addresses = append(addresses, ip.IP)
	}
	return addresses
}

// start creates pods and waits until done returns true for each. Pods that miss the timeout are nil.
func (s *fixture) start(ctx context.Context, wanted []*corev1.Pod, done func(*corev1.Pod) bool) ([]*corev1.Pod, error) {
	made := make([]*corev1.Pod, len(wanted))
	for i, p := range wanted {
		var err error
		if made[i], err = s.api.CoreV1.Pods(s.namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create a pod on %s: %w", p.Spec.NodeName, err)
		}
	}
	out := make([]*corev1.Pod, len(wanted))
	deadline := time.Now().Add(s.starting() + s.working)
	for {
		list, err := s.api.CoreV1.Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: s.selector()})
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		missing := 0
		for i, p := range made {
			j := slices.IndexFunc(list.Items, func(l corev1.Pod) bool { return l.Name == p.Name })
			if j >= 0 && done(&list.Items[j]) {
				out[i] = &list.Items[j]
			} else {
				missing++
			}
		}
		if missing == 0 || time.Now().After(deadline) {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for pods: %w", ctx.Err())
		case <-time.After(every):
		}
	}
}

// source is a pod that tests scenarios.
type source struct {
	node, client string
	onHost       bool
}

// sources returns the pods that test scenarios, each with its probes, in the order of the scenarios.
func sources(all []scenario) (order []source, probes map[source][]netprobe.Probe) {
	probes = map[source][]netprobe.Probe{}
	for _, sc := range all {
		from := source{sc.from, cmp.Or(sc.client, "probe"), sc.onHost}
		if _, exists := probes[from]; !exists {
			order = append(order, from)
		}
		probes[from] = append(probes[from], sc.Probe)
	}
	return order, probes
}

// tryAll starts the pods that test scenarios and reads their results.
func (s *fixture) tryAll(ctx context.Context, all []scenario) (map[string]netprobe.Result, []string, error) {
	var wanted []*corev1.Pod
	order, probes := sources(all)
	for _, from := range order {
		raw, err := json.Marshal(probes[from])
		if err != nil {
			return nil, nil, err
		}
		wanted = append(wanted, s.pod(from.client, from.node, from.onHost, []string{"reach-probe", string(raw)}))
	}
	pods, err := s.start(ctx, wanted, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	if err != nil {
		return nil, nil, err
	}
	results, notes := map[string]netprobe.Result{}, []string(nil)
	var mu sync.Mutex
	var group sync.WaitGroup
	for i, p := range pods {
		if p == nil {
			notes = append(notes, fmt.Sprintf("a pod on %s did not end in time: its kubelet does not answer, or all its tests time out", wanted[i].Spec.NodeName))
			continue
		}
		group.Go(func() {
			found, err := s.results(ctx, p.Name)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range found {
				results[r.ID] = r
			}
			if err != nil {
				notes = append(notes, fmt.Sprintf("what a pod on %s found cannot be read: %v", p.Spec.NodeName, err))
			}
		})
	}
	group.Wait()
	return results, notes, nil
}

func (s *fixture) results(ctx context.Context, pod string) ([]netprobe.Result, error) {
	raw, err := s.api.CoreV1.Pods(s.namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var found []netprobe.Result
	return found, json.Unmarshal(raw, &found)
}
