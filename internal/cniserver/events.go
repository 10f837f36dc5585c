package cniserver

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

const (
	// reasonFailed and actionAdd are the reason and the verb of events on pods that could not be attached.
	reasonFailed = "ErrorAddingPodToNetwork"
	actionAdd    = "AddPodToNetwork"
)

// Events sends events on pods about their attachment.
type Events struct{ recorder clientevents.EventRecorder }

// NewEvents returns a sender of events of a component that works until the context ends.
func NewEvents(ctx context.Context, client kubernetes.Interface, component string) (*Events, error) {
	broadcaster := clientevents.NewBroadcaster(&clientevents.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("send events: %w", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return &Events{broadcaster.NewRecorder(scheme.Scheme, component)}, nil
}

// Failed reports an error on a pod. It implements Server.Failed.
func (e *Events) Failed(pod Pod, err error) {
	if pod.Name == "" {
		return
	}
	e.recorder.Eventf(&corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}, nil,
		corev1.EventTypeWarning, reasonFailed, eventaction.Of(actionAdd, err.Error()), "%s", phrase.Note(err.Error()))
}
