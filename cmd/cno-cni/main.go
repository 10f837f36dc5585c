// Command cno-cni is the CNI plugin of every network whose agent serves CNI. It is installed under the name of each of them.
package main

import (
	"context"
	"os"

	"github.com/cluster-network-operator/cno/internal/cnishim"
)

func main() {
	os.Exit(cnishim.Run(context.Background(), cnishim.Call{Program: os.Args[0], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout}))
}
