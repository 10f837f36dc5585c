package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestUnreachableAddressesAreReported(t *testing.T) {
	timeout := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	now := time.Unix(0, 0)
	var shown []string
	reports := 0
	c := &connections{now: func() time.Time { return now }, report: func(s []string) { shown, reports = s, reports+1 }}
	for i, step := range []struct {
		after   time.Duration
		address string
		err     error
		want    []string
		why     string
	}{
		{0, "a:1", timeout, nil, "one attempt may fail while a host starts"},
		{10 * time.Second, "b:1", refused, nil, "a refusal is an answer"},
		{19 * time.Second, "a:1", timeout, nil, "it is not silent for long enough"},
		{time.Second, "a:1", fmt.Errorf("connect: %w", syscall.EHOSTUNREACH), []string{"a:1"}, "some firewalls answer that there is no route"},
		{time.Second, "a:1", context.Canceled, []string{"a:1"}, "a closed client has learned nothing"},
		{time.Second, "a:1", context.DeadlineExceeded, []string{"a:1"}, "it is reported once"},
		{time.Second, "a:1", nil, nil, "it answers again"},
		{time.Hour, "a:1", timeout, nil, "the time restarts"},
	} {
		now = now.Add(step.after)
		if c.record(step.address, step.err); !slices.Equal(shown, step.want) {
			t.Errorf("step %d: %v is reported, want %v: %s", i, shown, step.want, step.why)
		}
	}
	if reports != 2 {
		t.Errorf("%d reports, want 2", reports)
	}
	if lost(nil) || lost(errors.New("x509: unknown authority")) {
		t.Error("an answer counts as none")
	}
}
