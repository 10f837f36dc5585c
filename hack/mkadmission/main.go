// Command mkadmission writes the admission policies of config/admission from the table of fields.
//
//	go run ./hack/mkadmission > config/admission/policies.yaml
package main

import (
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/networks"
)

func main() {
	all := networks.Registry()
	if err := admission.Write(os.Stdout, all.Fields(""), all.Operands()); err != nil {
		fmt.Fprintf(os.Stderr, "mkadmission: %v\n", err)
		os.Exit(1)
	}
}
