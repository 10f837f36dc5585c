// Package cli holds the promises about cno on a cluster: it says how the network is and why it is not, tries it out, pauses
// it, and takes it away. The tests share one lab, one after the other; each leaves the network as it found it.
package cli

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

// sample is the network that the lab has.
const sample = "network-flannel.yaml"

func TestMain(m *testing.M) { os.Exit(kit.Main(m, &lab, sample)) }

// cno runs cno, and fails the test unless its exit status is as wanted.
func cno(t *testing.T, status int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, got, err := lab.CNO(ctx, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	if got != status {
		t.Fatalf("cno %v ends with status %d, want %d:\n%s", args, got, status, out)
	}
	return out
}
