// Package bench measures in the lab what no benchmark of a single package can: how long a cluster waits for its
// network, and what pods get compared with the nodes themselves, in the same run.
package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/networks"
)

var (
	lab *kit.Kit
	// available is how long it took from the Network object to a settled network, measured once.
	available time.Duration
	// network is the row of the table that the lab has.
	network networks.Network
	reuse   = flag.Bool("reuse", false, "use the lab that is up, and leave it up")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := 1
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if lab != nil && !*reuse {
		if _, err := lab.Lab(context.Background(), "down"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func prepare(ctx context.Context) error {
	var err error
	if network, err = networks.Find(os.Getenv(networks.Variable)); err != nil {
		return err
	}
	// hack/bench reads this line, and those of skip, from the output.
	fmt.Printf("network: %s\n", network.Name())
	if lab, err = kit.Exclusive(); err != nil {
		return err
	}
	if err := buildNetbench(ctx); err != nil {
		return err
	}
	if *reuse {
		return lab.Connect()
	}
	if err := kit.Run(ctx, os.Stderr, network.Prepare(lab, "--links=1")); err != nil {
		return err
	}
	if err := kit.Poll(ctx, time.Minute, lab.OperatorRuns); err != nil {
		return err
	}
	start := time.Now()
	err = kit.Run(ctx, os.Stderr, network.Apply(lab))
	available = time.Since(start)
	return err
}

// skip skips a benchmark that the network does not support, with the reason.
func skip(b *testing.B, reason string) {
	b.Helper()
	fmt.Printf("skipped: %s: %s\n", b.Name(), reason)
	b.Skip(reason)
}

// program is the path of netbench.
func program() string { return filepath.Join(lab.Root, "_output/lab-bin/netbench") }

// buildNetbench builds netbench as it is in the checkout.
func buildNetbench(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program(), "./cmd/netbench")
	cmd.Dir = filepath.Join(lab.Root, "e2e")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build netbench: %w\n%s", err, out)
	}
	return nil
}

// netbench runs the program of that name in a node and decodes what it prints.
func netbench(ctx context.Context, node string, into any, args ...string) error {
	out, err := lab.Lab(ctx, append([]string{"exec", node, "--", program()}, args...)...)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal([]byte(out), into)
}
