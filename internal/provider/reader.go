package provider

import "sigs.k8s.io/controller-runtime/pkg/client"

// Cached is a reader with a cache that has only part of the cluster: of pods, for example, only the operator's own.
type Cached interface {
	client.Reader
	// Direct is a reader that asks the API server.
	Direct() client.Reader
}

// Direct returns a reader that asks the API server, for what no cache has. It is for what is rarely read.
func Direct(r client.Reader) client.Reader {
	if c, ok := r.(Cached); ok {
		return c.Direct()
	}
	return r
}
