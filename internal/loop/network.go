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

// Network has the dependencies of controllers of networks. All fields are set.
type Network struct {
	// Client is a client with a cache of Nodes, and of the ConfigMaps and Secrets of the operator's namespace and of those that
	// provider.Operands declares as installed.
	Client client.Client
	// Nodes returns all nodes, which are read-only.
	Nodes func(context.Context) ([]*corev1.Node, error)
	// Live reads without cache.
	Live client.Reader
	// Namespace is that of the operator.
	Namespace string
	// Managed reports whether the network is managed. If not, controllers only observe.
	Managed func(context.Context) (bool, error)
	// Board receives the findings of controllers, by their name.
	Board *report.Board
	// Certificates returns a function for one controller, to which it passes all its certificates after every reconcile.
	Certificates func() func([]Certificate)
	// Metrics is the registry of controllers' own metrics. The same ones may be registered already.
	Metrics prometheus.Registerer
	Now     func() time.Time
	Log     *slog.Logger
}

// Certificate is the expiry of a certificate.
type Certificate struct {
	// Secret is the Secret of the certificate.
	Secret client.ObjectKey
	// Name is the kind of the certificate in the Secret: authority for a CA, certificate for one that it has signed.
	Name     string
	NotAfter time.Time
}
