// Package network holds the promises that every network keeps, each in a lab with one control-plane node and two workers. The environment
// variable NETWORK names the network, a row of e2e/networks. With -short only the quick ones are tested. The tests share one lab, one after
// the other; each leaves the network as it found it. Files are named after the promise they prove.
package network

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/networks"
)

var (
	lab     *kit.Kit
	network networks.Network
)

func TestMain(m *testing.M) { os.Exit(networks.Main(m, &lab, &network)) }

// exhaustive is set by make e2e-all: variants of a promise that take minutes are tested, too, after the two that differ most.
var exhaustive = flag.Bool("exhaustive", false, "also test the variants that take too long for every change")

// full marks a test that takes too long for every network in every run.
func full(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make e2e-all tests it")
	}
}

// cno runs cno, and fails the test unless its exit status is as wanted.
func cno(t *testing.T, status int, args ...string) string {
	t.Helper()
	return cnoInput(t, status, "", args...)
}

// cnoInput is cno with something on standard input.
func cnoInput(t *testing.T, status int, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, got, err := lab.CNO(ctx, input, args...)
	if err != nil {
		t.Fatal(err)
	}
	if got != status {
		t.Fatalf("cno %v ends with status %d, want %d:\n%s", args, got, status, out)
	}
	return out
}

// kubectl runs kubectl, which must succeed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := lab.Kubectl(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}
