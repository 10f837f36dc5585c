// Package controllers lists the controllers of networks. It is separate from the list of networks, since binaries that only render need no
// clients of the networks' databases.
package controllers

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/loop"
	flannel "github.com/cluster-network-operator/cno/providers/flannel/controller"
)

// All returns the controllers of all networks that have one.
func All(n loop.Network) []loop.Spec {
	return slices.Concat(
		flannel.Specs(n),
	)
}
