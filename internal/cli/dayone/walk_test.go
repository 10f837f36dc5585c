package dayone_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/controller/hostnetworkconfig"
	"github.com/cluster-network-operator/cno/internal/doctest"
)

// TestDayOneCanBeWalkedThrough does what docs/day-one.md says, but for what is on hosts: that is done in e2e/suites/dayone.
func TestDayOneCanBeWalkedThrough(t *testing.T) {
	root, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "docs", "day-one.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := doctest.Steps("docs/day-one.md", string(content))
	if err != nil || len(steps) < 10 {
		t.Fatalf("found %d steps, %v", len(steps), err)
	}
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(programs, "cno"), "./cmd/cno")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := apitest.Start(t, apitest.Options{})
	runLoop(t, server)
	walk := doctest.Walk{
		Dir:  t.TempDir(),
		Env:  []string{"PATH=" + programs + ":" + assets(root) + ":" + os.Getenv("PATH"), "KUBECONFIG=" + server.Kubeconfig},
		Skip: []string{"on"},
	}
	if err := walk.Run(steps); err != nil {
		t.Fatal(err)
	}
}

// assets is the directory of kubectl.
func assets(root string) string {
	if dir := os.Getenv("CNO_TEST_ASSETS"); dir != "" {
		return dir
	}
	return filepath.Join(root, "_output", "lab", "bin")
}

// runLoop lets the operator's loop manage what the document applies.
func runLoop(t *testing.T, server *apitest.Server) {
	t.Helper()
	loop := &hostnetworkconfig.Controller{
		Client: server.Client, Live: server.Client, Serves: func(schema.GroupKind) (bool, error) { return false, nil },
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// What fails is tried again, as in the operator; the document waits for what it wants to see.
			_, _ = loop.Reconcile(ctx, reconcile.Request{})
			time.Sleep(50 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
