// Command mkrbac writes the roles that networks need of the operator's account, from what they declare.
//
//	go run ./hack/mkrbac > config/rbac/networks.yaml
package main

import (
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/networks"
)

func main() {
	if err := admission.WriteRoles(os.Stdout, networks.Registry().Operands()); err != nil {
		fmt.Fprintf(os.Stderr, "mkrbac: %v\n", err)
		os.Exit(1)
	}
}
