package report

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/status"
)

func TestBoardKeepsOneEntryPerControllerAndReportsOnlyChanges(t *testing.T) {
	var board Board
	reported := 0
	board.OnChange(func() { reported++ })
	bad := status.Finding{Component: "Flannel", Effect: status.Degraded, Reason: "R", Message: "m"}

	board.Report("b", bad)
	board.Report("b", bad) // the same again is no change
	board.Report("a")      // a first report without a problem is no change
	board.SetRollout(Rollout{Generation: 1})
	board.SetRollout(Rollout{Generation: 1})
	if reported != 2 {
		t.Errorf("listener was called %d times, want 2", reported)
	}
	findings, rollout, ready := board.Snapshot()
	if diff := cmp.Diff([]status.Finding{bad}, findings); diff != "" || rollout.Generation != 1 || !ready {
		t.Errorf("snapshot: generation %d, ready %v, findings:\n%s", rollout.Generation, ready, diff)
	}
	board.Report("b")
	if findings, _, _ := board.Snapshot(); len(findings) != 0 {
		t.Errorf("a loop's new report left its old findings: %v", findings)
	}
}

func TestBoardAwaitsTheFirstReportOfAController(t *testing.T) {
	var board Board
	reported := 0
	board.OnChange(func() { reported++ })
	board.Await("flannel")
	if diff := cmp.Diff([]string{"flannel"}, board.Awaited()); diff != "" {
		t.Error(diff)
	}
	board.Report("flannel") // a healthy report is a change while it is awaited
	if len(board.Awaited()) != 0 || reported != 1 {
		t.Errorf("after the report %v are awaited, and %d changes were reported", board.Awaited(), reported)
	}
}

func TestBoardReportsStalledRolloutsToSubscribersOnly(t *testing.T) {
	var board Board
	changes, hangs := 0, 0
	board.OnChange(func() { changes++ })
	board.OnStalled(func() { hangs++ })
	for _, what := range []string{"agent hangs", "agent hangs", ""} {
		board.SetStalled(what)
	}
	if changes != 0 || hangs != 2 || board.Stalled() != "" {
		t.Errorf("%d changes and %d stalls were reported, and %q is stalled", changes, hangs, board.Stalled())
	}
}

func TestBoardIsSafeForConcurrentUse(t *testing.T) {
	var board Board
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			board.Report("loop", status.Finding{Reason: "R"})
			board.Snapshot()
			board.SetRollout(Rollout{})
		})
	}
	group.Wait()
}
