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

// metricsOptions returns the options of the metrics server: it uses TLS and authorizes requests.
func (s *shared) metricsOptions() server.Options {
	return server.Options{
		BindAddress:   orNowhere(s.MetricsAddress),
		SecureServing: true,
		// Scrapes are sequential requests, for which HTTP/2 has no advantage.
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
