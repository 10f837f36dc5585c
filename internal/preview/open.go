package preview

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// The rate limits of requests of a command: a plan reads about sixty objects at once.
const (
	requestsPerSecond = 100
	requestsBurst     = 200
)

// Open returns a Cluster for a configuration. It may request only the available APIs.
func Open(config *rest.Config, namespace string) (Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsBurst
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return Cluster{}, fmt.Errorf("reach the cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return Cluster{}, fmt.Errorf("reach the cluster: %w", err)
	}
	scheme := clientgoscheme.Scheme
	for _, add := range []func() error{
		func() error { return operatorv1.AddToScheme(scheme) }, func() error { return networkoperatorv1.AddToScheme(scheme) },
	} {
		if err := add(); err != nil {
			return Cluster{}, fmt.Errorf("create scheme: %w", err)
		}
	}
	reader, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper, Scheme: scheme})
	if err != nil {
		return Cluster{}, fmt.Errorf("reach the cluster: %w", err)
	}
	api, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return Cluster{}, fmt.Errorf("reach the cluster: %w", err)
	}
	return Cluster{Client: reader, API: api, Mapper: mapper, Namespace: namespace}, nil
}
