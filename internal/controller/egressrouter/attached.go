package egressrouter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	plugin "github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// maxStatusBytes is the maximum size of a network status annotation that is cached; that of a router has less than 1 KiB.
	maxStatusBytes = 16 << 10
	// eventsRetry is the interval at which the events of a pod that does not start are read; they are not watched.
	eventsRetry = 15 * time.Second
	// maxEvents is the maximum number of events that are read for a pod.
	maxEvents = 100
)

// attachment is an address of a router and the name of the network under which the node reports it.
type attachment struct {
	network string
	address netip.Addr
}

// attachmentsOf returns the attachments of a valid router.
func attachmentsOf(r *networkv1.EgressRouter) (all []attachment) {
	for _, address := range addressesOf(r) {
		all = append(all, attachment{r.Namespace + "/" + attachmentName(r.Name, address.Is6()), address})
	}
	return all
}

// missingAttachment returns the first wanted attachment that is not in the network status of a pod.
func missingAttachment(pod *corev1.Pod, wanted []attachment) (attachment, bool) {
	var reported []struct {
		Name string   `json:"name"`
		IPs  []string `json:"ips"`
	}
	// An unreadable annotation counts as empty.
	_ = json.Unmarshal([]byte(pod.Annotations[wire.AnnotationStatus]), &reported)
	for _, a := range wanted {
		found := false
		for _, network := range reported {
			found = found || network.Name == a.network && slices.ContainsFunc(network.IPs, func(ip string) bool {
				address, err := netip.ParseAddr(ip)
				return err == nil && address.Unmap() == a.address
			})
		}
		if !found {
			return a, true
		}
	}
	return attachment{}, false
}

// missingAddress returns the address that the pods lack. It returns nil if one pod has all addresses.
func (s state) missingAddress() *cause {
	var first *cause
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		a, lacks := missingAttachment(pod, s.Wanted)
		if !lacks {
			return nil
		}
		if first == nil {
			first = &cause{"AddressMissing", fmt.Sprintf("pod %s on node %s runs without the address %s: the node has not reported it for the network %s. "+
				"Routers need multiple networks (spec.disableMultiNetwork: false), and pods that were created before have none: delete the pod", pod.Name, pod.Spec.NodeName, a.address, a.network)}
		}
	}
	if first == nil {
		first = &cause{"AddressMissing", "no pod has the address"}
	}
	return first
}

// attachFailure returns the reason why a node could not attach a pod, from the newest event of the pod. It returns nil if there is none.
func (c *Controller) attachFailure(ctx context.Context, pods []corev1.Pod) (*cause, error) {
	for i := range pods {
		pod := &pods[i]
		if !isStarting(pod) {
			continue
		}
		var events corev1.EventList
		err := c.Live.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)}, client.Limit(maxEvents))
		if err != nil {
			return nil, fmt.Errorf("list events of pod %s: %w", pod.Name, err)
		}
		slices.SortFunc(events.Items, func(a, b corev1.Event) int {
			return cmp.Compare(b.LastTimestamp.UnixNano(), a.LastTimestamp.UnixNano())
		})
		for j := range events.Items {
			if f, ok := plugin.FailureIn(events.Items[j].Message); ok {
				return &cause{f.Reason, fmt.Sprintf("pod %s on node %s: %s", pod.Name, pod.Spec.NodeName, strings.TrimSpace(f.Message))}, nil
			}
		}
	}
	return nil, nil
}

// isStarting reports whether a pod is scheduled and its containers have not started.
func isStarting(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending
}
