// Package install holds the promises about the way from nothing to a network: each test has a cluster of its own,
// whose nodes have no network and whose operator has nothing to do yet.
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
		fmt.Fprintf(os.Stderr, "the lab is left as it is: look with %s\n", lab.Look())
	} else if _, err := lab.Lab(context.Background(), "down"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fresh brings up a cluster. When the test ends, nothing may have been refused for lack of rights.
func fresh(t *testing.T) {
	t.Helper()
	begun, said := time.Now(), &strings.Builder{}
	if err := kit.Run(t.Context(), said, lab.Bare()); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Cleanup(func() {
		if refused, err := lab.Forbidden(begun); err != nil || len(refused) > 0 {
			t.Errorf("the API server has refused something for lack of rights (%v):\n%s", err, strings.Join(refused, "\n"))
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
		t.Fatalf("the network does not settle: %v", err)
	}
}
