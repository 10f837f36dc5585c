// Command egress-router-cni is the CNI plugin of egress routers. It is installed under the name egress-router.
package main

import (
	"os"

	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter/plugin"
)

func main() { plugin.Plugin{Log: os.Stderr}.Run() }
