package provider

import "context"

// VNIDReporter is a provider whose agents report the virtual networks of namespaces, for `cno pod-network`.
type VNIDReporter interface {
	// VNIDs returns the VNIDs in the flows of a node by namespace. It has no namespace without pods on the node. TraceAccess.Spec may be nil.
	VNIDs(ctx context.Context, at TraceAccess, node string) (map[string]uint32, error)
}
