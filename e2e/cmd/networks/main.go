// Command networks prints the names of the networks in the table of e2e/networks of which make e2e tests so much: none, quick or full.
package main

import (
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/e2e/networks"
)

func main() {
	tiers, ok := map[string]networks.Tiers{"none": networks.None, "quick": networks.Quick, "full": networks.Full}[tierOf(os.Args)]
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: networks none|quick|full")
		os.Exit(2)
	}
	for _, n := range networks.All() {
		if n.Tiers == tiers {
			_, _ = fmt.Fprintln(os.Stdout, n.Name())
		}
	}
}

func tierOf(arguments []string) string {
	if len(arguments) != 2 {
		return ""
	}
	return arguments[1]
}
