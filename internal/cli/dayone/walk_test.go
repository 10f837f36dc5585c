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

// TestDayOneGuideWorks executes the commands of docs/day-one.md, except those on hosts, which e2e/suites/dayone executes.
func TestDayOneGuideWorks(t *testing.T) {
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
	runController(t, server)
	walk := doctest.Walk{
		Dir:  t.TempDir(),
		Env:  []string{"PATH=" + programs + ":" + assets(root) + ":" + os.Getenv("PATH"), "KUBECONFIG=" + server.Kubeconfig},
		Skip: []string{"on"},
	}
	if err := walk.Run(steps); err != nil {
		t.Fatal(err)
	}
}

// assets returns the directory of kubectl.
func assets(root string) string {
	if dir := os.Getenv("CNO_TEST_ASSETS"); dir != "" {
		return dir
	}
	return filepath.Join(root, "_output", "lab", "bin")
}

// runController runs the operator's controller for the objects that the guide applies.
func runController(t *testing.T, server *apitest.Server) {
	t.Helper()
	controller := &hostnetworkconfig.Controller{
		Client: server.Client, Live: server.Client, Serves: func(schema.GroupKind) (bool, error) { return false, nil },
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// An error is retried, as in the operator; the guide waits for the results that it needs.
			_, _ = controller.Reconcile(ctx, reconcile.Request{})
			time.Sleep(50 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}
