//go:build toynetwork

package networks

import (
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/toy"
)

// tests are networks that no release has.
var tests = []provider.Provider{toy.New()}
