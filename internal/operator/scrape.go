package operator

import (
	"crypto/tls"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cluster-network-operator/cno/internal/metricsauth"
)

// metricsOptions are those of the server of metrics: over TLS, and for those alone who may read them.
func (s *shared) metricsOptions() server.Options {
	return server.Options{
		BindAddress:   orNowhere(s.MetricsAddress),
		SecureServing: true,
		// Scrapes are one request after the other: HTTP/2 has nothing to give them, and much to take care of.
		TLSOpts: []func(*tls.Config){s.Facts.TLS.Apply, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
		FilterProvider: func(config *rest.Config, client *http.Client) (server.Filter, error) {
			r, err := metricsauth.New(config, client, time.Now, s.Log.With("controller", "metrics"))
			if err != nil {
				return nil, err
			}
			return func(_ logr.Logger, next http.Handler) (http.Handler, error) { return r.Only(next), nil }, nil
		},
	}
}
