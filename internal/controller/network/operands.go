package network

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Name is the name of the controller, in conditions and in logs.
const Name = "network"

// FieldManager owns the fields of the network's objects. It is the same as in OpenShift's operator.
const FieldManager = "cluster-network-operator/operconfig"

// Operand is an object that is desired or was applied, and the API version in which it is read.
type Operand struct {
	Key     manifest.Key
	Version string
}

// Operands is a cache of the objects that the operator has applied.
type Operands interface {
	// Watch watches objects instead of those that it was called with before, and returns when what exists of their kinds in their
	// namespaces is known.
	Watch(ctx context.Context, objects []Operand) error
	// Serves reports whether the API server serves a kind.
	Serves(schema.GroupKind) bool
	// Live returns an object, for looking at only.
	Live(manifest.Key) (*unstructured.Unstructured, bool)
	// Seen returns the newest resource version of an object that is known, that of its deletion included.
	Seen(manifest.Key) string
}

// Events are the events on Network/cluster, each with a reason and a message.
type Events interface {
	Normal(network *operatorv1.Network, reason, message string)
	Warning(network *operatorv1.Network, reason, message string)
}
