package operator

import (
	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// events records Kubernetes events for controllers.
type events struct{ clientevents.EventRecorder }

// Normal records an event of type Normal.
func (e events) Normal(network *operatorv1.Network, reason, message string) {
	e.make(network, corev1.EventTypeNormal, reason, message)
}

// Warning records an event of type Warning.
func (e events) Warning(network *operatorv1.Network, reason, message string) {
	e.make(network, corev1.EventTypeWarning, reason, message)
}

func (e events) make(network *operatorv1.Network, kind, reason, message string) {
	about := network.DeepCopy()
	about.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	e.Eventf(about, nil, kind, reason, eventaction.Of("Reconcile", message), "%s", phrase.Note(message))
}
