package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Reasons of events on pods.
const (
	reasonAdded    = "AddedInterface"
	reasonInvalid  = "InvalidNetworks"
	reasonNotFound = "NoNetworkFound"
	reasonFailed   = "FailedAttachNetworks"
	action         = "AttachNetworks"
	component      = "multus"
)

// events sends events on pods.
type events struct{ recorder clientevents.EventRecorder }

// newEvents returns a sender of events that works until the context ends.
func newEvents(ctx context.Context, client kubernetes.Interface) (*events, error) {
	broadcaster := clientevents.NewBroadcaster(&clientevents.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("send events: %w", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return &events{broadcaster.NewRecorder(scheme.Scheme, component)}, nil
}

func (e *events) added(pod wire.Pod, text string) {
	e.send(pod, corev1.EventTypeNormal, reasonAdded, action, text)
}

func (e *events) warn(pod wire.Pod, reason, text string) {
	e.send(pod, corev1.EventTypeWarning, reason, action, text)
}

func (e *events) send(pod wire.Pod, kind, reason, action, text string) {
	e.about(&corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}, kind, reason, action, text)
}

// about sends an event about an object. It ignores an object without a name, which is a sandbox without a pod.
func (e *events) about(about *corev1.ObjectReference, kind, reason, action, text string) {
	if about.Name == "" {
		return
	}
	e.recorder.Eventf(about, nil, kind, reason, eventaction.Of(action, text), "%s", phrase.Note(text))
}
