// Package idling encodes and decodes the annotations of OpenShift for Services whose pods were scaled to zero. It is pure.
package idling

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	unidlingv1alpha1 "github.com/openshift/api/unidling/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The annotations.
const (
	// IdledAt is set on an idled Service, its Endpoints and the scaled objects: the time of idling in RFC 3339.
	IdledAt = unidlingv1alpha1.IdledAtAnnotation
	// Targets is set on the Service and its Endpoints: the objects to scale up, as JSON.
	Targets = unidlingv1alpha1.UnidleTargetAnnotation
	// PreviousScale is set on scaled objects: their previous number of replicas.
	PreviousScale = unidlingv1alpha1.PreviousScaleAnnotation
	// NeedPods is the reason of the Event that requests to wake a Service.
	NeedPods = unidlingv1alpha1.NeedPodsReason
)

// Target is an object that was scaled to zero, in the namespace of the Service.
type Target = unidlingv1alpha1.RecordedScaleReference

// State is the state of a Service in its annotations.
type State struct {
	At      time.Time
	Targets []Target
}

// Decode decodes annotations. idled is false if they are not those of an idled Service; the error is that of invalid annotations of one.
func Decode(annotations map[string]string) (s State, idled bool, err error) {
	at, idled := annotations[IdledAt]
	if !idled {
		return State{}, false, nil
	}
	if s.At, err = time.Parse(time.RFC3339, at); err != nil {
		return State{}, true, fmt.Errorf("annotation %s is %q: write a time such as 2026-01-02T15:04:05Z", IdledAt, at)
	}
	if err := json.Unmarshal([]byte(annotations[Targets]), &s.Targets); err != nil {
		return State{}, true, fmt.Errorf(`annotation %s: %w; write a list such as [{"kind":"Deployment","group":"apps","name":"web","replicas":2}]`, Targets, err)
	}
	for _, t := range s.Targets {
		if Object(t, "") == nil {
			return State{}, true, fmt.Errorf("annotation %s has %s %q of group %q, which cannot be scaled here; write one of %v", Targets, t.Kind, t.Name, t.Group, kinds)
		}
		if t.Name == "" || t.Replicas < 0 {
			return State{}, true, fmt.Errorf("annotation %s has %s %q with %d replicas: name and number are required", Targets, t.Kind, t.Name, t.Replicas)
		}
	}
	return s, true, nil
}

// Encode returns the annotations of an idled Service and its Endpoints.
func Encode(s State) (map[string]string, error) {
	targets, err := json.Marshal(s.Targets)
	if err != nil {
		return nil, fmt.Errorf("encode targets: %w", err)
	}
	return map[string]string{IdledAt: s.At.UTC().Format(time.RFC3339), Targets: string(targets)}, nil
}

// kinds are the kinds that can be scaled.
var kinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}

// Object returns an empty object of the kind of a target, with its name; nil if the kind cannot be scaled. Older versions of oc wrote targets
// without a group.
func Object(t Target, namespace string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: t.Name}
	apps := slices.Contains([]string{appsv1.GroupName, ""}, t.Group)
	switch {
	case t.Kind == "Deployment" && apps:
		return &appsv1.Deployment{ObjectMeta: meta}
	case t.Kind == "ReplicaSet" && apps:
		return &appsv1.ReplicaSet{ObjectMeta: meta}
	case t.Kind == "StatefulSet" && apps:
		return &appsv1.StatefulSet{ObjectMeta: meta}
	case t.Kind == "ReplicationController" && t.Group == "":
		return &corev1.ReplicationController{ObjectMeta: meta}
	}
	return nil
}
