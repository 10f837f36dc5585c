// Command mkrbac writes the roles that the operator's account needs for networks, from their declarations.
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
