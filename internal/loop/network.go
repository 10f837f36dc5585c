package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/report"
)

// Network is what the operator gives the controllers of networks. All fields are set.
type Network struct {
	// Client writes. It reads Nodes, and the ConfigMaps and Secrets of the operator's namespace and of those that provider.Operands
	// declares as installed, from a cache.
	Client client.Client
	// Nodes returns all nodes, for looking at only.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads past any cache.
	Live client.Reader
	// Namespace is the operator's.
	Namespace string
	// Managed reports whether the network may be changed. If not, controllers only observe.
	Managed func(context.Context) (bool, error)
	// Board is where controllers report what degrades the network, by their name.
	Board *report.Board
	// Certificates returns a function for one controller that takes, after every reconcile, when its certificates expire: all of them.
	Certificates func() func([]Certificate)
	// Metrics is where controllers register their own metrics. The same ones may be registered already.
	Metrics prometheus.Registerer
	Now     func() time.Time
	Log     *slog.Logger
}

// Certificate is when a certificate expires.
type Certificate struct {
	// Secret is the Secret that has it.
	Secret client.ObjectKey
	// Name is the certificate's in the Secret: authority for a CA, certificate for what it has signed.
	Name     string
	NotAfter time.Time
}
