package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/cniserver"
)

const (
	// reasonFailed is the reason of events on pods that could not be attached, action what was being done.
	reasonFailed = "ErrorAddingPodToNetwork"
	action       = "AddPodToNetwork"
	component    = "ovnkube-node"
)

// events are events on pods.
type events struct{ recorder clientevents.EventRecorder }

// newEvents returns events that are sent until the context ends.
func newEvents(ctx context.Context, client kubernetes.Interface) (*events, error) {
	broadcaster := clientevents.NewBroadcaster(&clientevents.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("send events: %w", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return &events{broadcaster.NewRecorder(scheme.Scheme, component)}, nil
}

// failed reports on a pod why it could not be attached.
func (e *events) failed(pod cniserver.Pod, err error) {
	if pod.Name == "" {
		return
	}
	e.recorder.Eventf(&corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}, nil,
		corev1.EventTypeWarning, reasonFailed, action, "%s", err)
}
