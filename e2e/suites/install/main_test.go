// Package install tests the installation of a network: each test has a cluster of its own without a network, in which the operator runs and
// waits for a Network object.
package install

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) {
	var err error
	if lab, err = kit.Exclusive(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "the lab is kept for inspection: %s\n", lab.StatusCommand())
	} else if _, err := lab.Lab(context.Background(), "down"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fresh creates a cluster. When the test ends, it fails if the API server has refused requests because permissions are missing.
func fresh(t *testing.T) {
	t.Helper()
	create(t, lab.Bare())
}

// create is fresh with other steps.
func create(t *testing.T, steps []kit.Step) {
	t.Helper()
	start, out := time.Now(), &strings.Builder{}
	if err := kit.Run(t.Context(), out, steps); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if refused, err := lab.Forbidden(start); err != nil || len(refused) > 0 {
			t.Errorf("the API server has refused requests because permissions are missing (%v):\n%s", err, strings.Join(refused, "\n"))
		}
	})
}

// apply applies YAML as a user does.
func apply(t *testing.T, yaml string) {
	t.Helper()
	if _, err := lab.KubectlInput(t.Context(), yaml, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// sample returns a file of config/samples.
func sample(t *testing.T, name string) string {
	t.Helper()
	text, err := lab.Sample(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// settles fails the test if the network does not become available, or the nodes do not become ready.
func settles(t *testing.T) {
	t.Helper()
	if err := lab.WaitSettled(t.Context(), 2*time.Minute); err != nil {
		t.Fatalf("the network does not become available: %v", err)
	}
}
