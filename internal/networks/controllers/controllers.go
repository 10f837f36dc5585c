// Package controllers is the list of the controllers of networks. It is not part of the list of networks: programs that only render them
// need no clients of their databases.
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
