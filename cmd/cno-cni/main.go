// Command cno-cni is the CNI plugin of every network whose agent serves CNI requests. It is installed under the name of each network. Under
// the name multus-shim it attaches pods to additional networks.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/cnishim"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
)

func main() {
	call := cnishim.Call{Program: os.Args[0], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout}
	if filepath.Base(call.Program) == delegate.Shim {
		os.Exit(attach.Run(context.Background(), call))
	}
	os.Exit(cnishim.Run(context.Background(), call))
}
