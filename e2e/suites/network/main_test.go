// Package network has the tests of every network, each in a lab with one control-plane node and two workers. The environment
// variable NETWORK names the network, a row of e2e/networks. With -short only the quick ones are tested. The tests share one lab, one after
// the other; each restores the network. Files are named after the behaviour that they test.
package network

import (
	"context"
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

// cno runs cno, and fails the test unless it has the expected exit status.
func cno(t *testing.T, status int, args ...string) string {
	t.Helper()
	return cnoInput(t, status, "", args...)
}

// cnoInput is cno with standard input.
func cnoInput(t *testing.T, status int, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
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
