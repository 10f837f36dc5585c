package operator

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// Remembered returns the address of the API server with which operands were rendered before if it is reachable, and
// otherwise found. If no address is configured, found is that of the operator's own node: without this, all operands would
// be rolled out again whenever another replica takes over.
func Remembered(ctx context.Context, config *rest.Config, namespace string, found facts.HostPort, log *slog.Logger) facts.HostPort {
	// Only one kind is read, so that no discovery is needed.
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := client.New(At(config, found), client.Options{Mapper: known})
	if err != nil {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	var cm corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: facts.ConfigMapName}, &cm); err != nil {
		return found // nothing was rendered yet, or it is unknown
	}
	before, err := facts.Published(cm.Data)
	if err != nil || before.APIServer == found {
		return found
	}
	if err := probeAPIServer(ctx, config, before.APIServer); err != nil {
		log.Warn("operands get another address of the API server: the current one does not respond", "before", before.APIServer.Host, "now", found.Host, "error", err)
		return found
	}
	return before.APIServer
}

// Chosen reports whether the address of the API server is configured: the operator then renders only with that one.
func (s Surroundings) Chosen(at facts.HostPort) bool {
	explicit := Surroundings{OverrideHost: s.OverrideHost, OverridePort: s.OverridePort, URLFile: s.URLFile}
	return contains(explicit.Candidates(), at)
}
