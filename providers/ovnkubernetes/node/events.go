package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/cniserver"
)

// reasonFailed is the reason of events on pods that could not be attached.
const reasonFailed = "ErrorAddingPodToNetwork"

// events are events on pods.
type events struct{ recorder record.EventRecorder }

// newEvents returns events that are sent until the context ends.
func newEvents(ctx context.Context, client kubernetes.Interface, node string) *events {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return &events{broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "ovnkube-node", Host: node})}
}

// failed reports on a pod why it could not be attached.
func (e *events) failed(pod cniserver.Pod, err error) {
	if pod.Name == "" {
		return
	}
	e.recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)},
		corev1.EventTypeWarning, reasonFailed, err.Error())
}
