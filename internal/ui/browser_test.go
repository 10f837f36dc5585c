package ui

import (
	"context"
	"errors"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cli/connectivity"
	"github.com/cluster-network-operator/cno/internal/testing/browser"
)

// A connectivity test needs nodes that run pods, which a cluster in memory does not have: only its report is made up here.
func TestTheButtonOfPathsRunsAConnectivityTest(t *testing.T) {
	s := served(t)
	failing := connectivity.Report{Passed: 1, Failed: 1, Seconds: 2.5, Hops: []string{"packets of pods do not leave node worker-1: no route"},
		Scenarios: []connectivity.Outcome{{Name: "pod to pod on another node", Error: "i/o timeout"}, {Name: "pod to itself", OK: true, Milliseconds: 3}}}
	results := make(chan error, 2)
	s.options.Actions = tester{report: failing, results: results}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	b := browser.Start(t)
	b.Open(s.URL("/paths"))
	b.Wait("the page", `document.getElementById("body")?.hasAttribute("data-ready")`)
	try := func() { b.Do(`document.getElementById("try").click()`) }
	try()
	b.Wait("it is shown that the test runs, and it is not started twice", `document.getElementById("try").disabled && document.body.innerText.includes("Pods are started")`)
	results <- nil
	b.Wait("the failing hop and the result of each scenario", `["1 of 2 scenarios pass", "do not leave node worker-1", "pod to pod on another node", "i/o timeout", "3 ms"].every(t => document.body.innerText.includes(t))`)
	b.Wait("it can be tried again", `!document.getElementById("try").disabled`)
	try()
	results <- errors.New("the pods of the test did not start within 2m0s")
	b.Wait("its error", `document.body.innerText.includes("did not start within") && !document.body.innerText.includes("i/o timeout")`)
}

// tester may test, and waits for the end of each test.
type tester struct {
	Actions
	report  connectivity.Report
	results <-chan error
}

func (tester) Permissions(context.Context) (change, test bool, err error) { return false, true, nil }

func (f tester) Test(context.Context, []string) (connectivity.Report, error) {
	return f.report, <-f.results
}
