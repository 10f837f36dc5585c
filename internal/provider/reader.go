package provider

import "sigs.k8s.io/controller-runtime/pkg/client"

// Cached is a reader with a cache of only a part of the cluster, for example only the operator's own pods.
type Cached interface {
	client.Reader
	// Direct returns a reader of the API server.
	Direct() client.Reader
}

// Direct returns a reader of the API server, for rare reads of objects that are not cached.
func Direct(r client.Reader) client.Reader {
	if c, ok := r.(Cached); ok {
		return c.Direct()
	}
	return r
}
