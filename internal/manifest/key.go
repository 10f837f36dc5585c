package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key identifies an object in a cluster. The version is not part of it: an object is served in all versions.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Key returns the object's key.
func (o Object) Key() Key { return KeyOf(o.Object) }

// KeyOf returns the key of an object whose kind is set.
func KeyOf(obj Typed) Key {
	gvk := obj.GetObjectKind().GroupVersionKind()
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// GroupKind returns the group and kind of the key.
func (k Key) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// String returns the key for messages: "DaemonSet openshift-flannel/flanneld".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(other Key) int {
	for _, pair := range [...][2]string{{k.Group, other.Group}, {k.Kind, other.Kind}, {k.Namespace, other.Namespace}, {k.Name, other.Name}} {
		if c := strings.Compare(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	return 0
}
