package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// events records Kubernetes events for controllers.
type events struct{ clientevents.EventRecorder }

// longestNote is the maximum length of the note of an event.
const longestNote = 1024

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
	if len(message) > longestNote {
		message = strings.ToValidUTF8(message[:longestNote-3], "") + "..."
	}
	e.Eventf(about, nil, kind, reason, "Reconcile", "%s", message)
}
