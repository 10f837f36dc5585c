// Package single holds the promises that are kept on a cluster with one control-plane node and two workers. The
// tests share one lab, one after the other; each leaves the network as it found it. Files are named after
// the promise they prove.
package single

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var (
	lab   *kit.Kit
	reuse = flag.Bool("reuse", false, "use the lab that is up, and leave it up")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := prepare(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\nthe lab is left as it is: look with 'lab status' and 'lab logs'\n", err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 && !*reuse {
		if _, err := lab.Lab(context.Background(), "down"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func prepare() error {
	var err error
	if lab, err = kit.New(); err != nil {
		return err
	}
	if *reuse {
		return lab.Connect()
	}
	return kit.Run(context.Background(), os.Stdout, lab.Install("network-flannel.yaml"))
}
