// Command networks prints the names of the networks in the table of e2e/networks: all of them, or those whose quick tier make e2e runs.
package main

import (
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/e2e/networks"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] != "all" && os.Args[1] != "quick" {
		fmt.Fprintln(os.Stderr, "usage: networks all|quick")
		os.Exit(2)
	}
	for _, n := range networks.All() {
		if os.Args[1] == "all" || n.Quick {
			_, _ = fmt.Fprintln(os.Stdout, n.Name())
		}
	}
}
