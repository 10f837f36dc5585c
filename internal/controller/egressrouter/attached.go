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
	// longestStatus bounds how much of it is kept in memory, in bytes; that of a router has less than one KiB.
	longestStatus = 16 << 10
	// eventsAgain is when the events of a pod that does not start are read again: they are not watched.
	eventsAgain = 15 * time.Second
	// mostEvents bounds how many are read.
	mostEvents = 100
)

// attachment is an address of a router, and the network by whose name the node reports it.
type attachment struct {
	network string
	address netip.Addr
}

// attachmentsOf lists the attachments that a valid router has.
func attachmentsOf(r *networkv1.EgressRouter) (all []attachment) {
	for _, address := range addressesOf(r) {
		all = append(all, attachment{r.Namespace + "/" + attachmentName(r.Name, address.Is6()), address})
	}
	return all
}

// missing returns the first of the attachments that a pod does not have, as far as the node has reported.
func missing(pod *corev1.Pod, wanted []attachment) (attachment, bool) {
	var reported []struct {
		Name string   `json:"name"`
		IPs  []string `json:"ips"`
	}
	// What cannot be read reports nothing.
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

// unattached says what a router lacks whose pods run without one of its addresses; nil if one of them has them all.
func (s state) unattached() *trouble {
	var first *trouble
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		a, lacks := missing(pod, s.Wanted)
		if !lacks {
			return nil
		}
		if first == nil {
			first = &trouble{"AddressMissing", fmt.Sprintf("pod %s on node %s runs without the address %s: the node has not reported it for the network %s. "+
				"Routers need multiple networks (spec.disableMultiNetwork: false), and pods that were created before have none: delete the pod", pod.Name, pod.Spec.NodeName, a.address, a.network)}
		}
	}
	if first == nil {
		first = &trouble{"AddressMissing", "no pod has the address"}
	}
	return first
}

// refusedOn returns why a node could not attach a pod that has not started there, nil if that is not known.
func (c *Controller) refusedOn(ctx context.Context, pods []corev1.Pod) (*trouble, error) {
	for i := range pods {
		pod := &pods[i]
		if !waits(pod) {
			continue
		}
		var events corev1.EventList
		err := c.Live.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)}, client.Limit(mostEvents))
		if err != nil {
			return nil, fmt.Errorf("list events of pod %s: %w", pod.Name, err)
		}
		slices.SortFunc(events.Items, func(a, b corev1.Event) int {
			return cmp.Compare(b.LastTimestamp.UnixNano(), a.LastTimestamp.UnixNano())
		})
		for j := range events.Items {
			if f, ok := plugin.FailureIn(events.Items[j].Message); ok {
				return &trouble{f.Reason, fmt.Sprintf("pod %s on node %s: %s", pod.Name, pod.Spec.NodeName, strings.TrimSpace(f.Message))}, nil
			}
		}
	}
	return nil, nil
}

// waits reports whether a pod is on a node that has not started its containers.
func waits(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending
}
