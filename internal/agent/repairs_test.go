package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// A third party removes a route whenever the agent has restored it, which it does at its own pace; after a while the third party stops.
func TestAFightIsAProblemWhileItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		board := agent.NewBoard(0, slog.New(slog.DiscardHandler))
		made, begin, gone := 0, time.Now(), true
		repairs := agent.NewRepairs(time.Now, func(string) { made++ })
		var problems []string
		keeper := agent.Loop{Interval: 5 * time.Second, Now: time.Now, Beat: &agent.Beat{}, Apply: func(context.Context) error {
			repairs.Ensured("the routes of tun0", "10.128.0.0/14", gone)
			gone = time.Since(begin) < 2*time.Minute
			before := board.View().Problems.Sentence("fights")
			board.Note("fights", repairs.Problem())
			if now := board.View().Problems.Sentence("fights"); now != before {
				problems = append(problems, fmt.Sprintf("%s: %s", time.Since(begin), now))
			}
			return nil
		}}
		ended := make(chan struct{})
		go func() { keeper.Run(ctx); close(ended) }()
		time.Sleep(5 * time.Minute)
		cancel()
		<-ended
		sentence := func(n int) string {
			return fmt.Sprintf("a third party changes repeatedly what the agent restores: the routes of tun0 (%d times or more); stop the program that changes it", n)
		}
		want := []string{"25s: " + sentence(5), "50s: " + sentence(10), "1m40s: " + sentence(20), "2m30s: "}
		if diff := cmp.Diff(want, problems); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
		if made != 24 { // all but the first time are repairs, one every five seconds
			t.Errorf("%d repairs", made)
		}
	})
}

func TestAnotherDesiredStateIsNoRepair(t *testing.T) {
	repairs := agent.NewRepairs(time.Now, func(thing string) { t.Errorf("%s is a repair", thing) })
	for i := range 100 {
		repairs.Ensured("the routes of tun0", fmt.Sprint(i), true)
	}
	repairs.Ensured("the routes of tun0", "99", false)
	if got := repairs.Fights(); got != nil {
		t.Errorf("fights: %v", got)
	}
}
