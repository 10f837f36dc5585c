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

// Remembered returns the address of the API server that operands were rendered with before, as long as it answers, and
// otherwise found. Where no one says which address to take, it is that of the operator's own node: without a memory,
// everything would be rolled out again whenever another replica takes over. When the node is gone, it is time to.
func Remembered(ctx context.Context, config *rest.Config, namespace string, found facts.HostPort, log *slog.Logger) facts.HostPort {
	// One kind is read, and no one need ask the server which it has.
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
		return found // nothing was rendered yet, or no one knows
	}
	before, err := facts.Published(cm.Data)
	if err != nil || before.APIServer == found {
		return found
	}
	if err := probeAPIServer(ctx, config, before.APIServer); err != nil {
		log.Warn("operands get another address of the API server: the one that they have does not answer", "before", before.APIServer.Host, "now", found.Host, "error", err)
		return found
	}
	return before.APIServer
}

// Chosen reports whether someone says where the API server is: the operator then renders with that, and nothing else.
func (s Surroundings) Chosen(at facts.HostPort) bool {
	explicit := Surroundings{OverrideHost: s.OverrideHost, OverridePort: s.OverridePort, URLFile: s.URLFile}
	return contains(explicit.Candidates(), at)
}
