package connectivity

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a sample so many minutes later.
func at(minutes int, err error) Sample {
	return Sample{Start: start.Add(time.Duration(minutes) * time.Minute), Target: "network-check-target-x", Endpoint: "10.1.1.1:8080", Connected: time.Millisecond, ConnectErr: err}
}

func TestConditionChangesWithTheFirstDifferentSample(t *testing.T) {
	refused, unresolved := at(2, errors.New("refused")), at(3, nil)
	unresolved.ResolveErr = errors.New("no such host")
	var s status
	for _, step := range []struct {
		why     string
		sample  Sample
		changed bool
		want    condition
	}{
		{"the first sample", at(0, nil), true, condition{Status: metav1.ConditionTrue, Reason: "TCPConnectSuccess",
			Message: "network-check-target-x: tcp connection to 10.1.1.1:8080 succeeded", LastTransitionTime: seconds(start)}},
		{"more of the same", at(1, nil), false, condition{Status: metav1.ConditionTrue, Reason: "TCPConnectSuccess",
			Message: "network-check-target-x: tcp connection to 10.1.1.1:8080 succeeded", LastTransitionTime: seconds(start)}},
		{"a failure", refused, true, condition{Status: metav1.ConditionFalse, Reason: "TCPConnectError",
			Message: "network-check-target-x: failed to establish a TCP connection to 10.1.1.1:8080: refused", LastTransitionTime: seconds(refused.Start)}},
		{"another one is news, but no transition", unresolved, true, condition{Status: metav1.ConditionFalse, Reason: "DNSError",
			Message: "network-check-target-x: failure looking up host of 10.1.1.1:8080: no such host", LastTransitionTime: seconds(refused.Start)}},
	} {
		before := s.DeepCopy()
		after, changed := Record(s, step.sample)
		if diff := cmp.Diff(*before, s); diff != "" {
			t.Errorf("%s: the input was changed:\n%s", step.why, diff)
		}
		step.want.Type = "Reachable"
		if diff := cmp.Diff([]condition{step.want}, after.Conditions); diff != "" || changed != step.changed {
			t.Errorf("%s: news %v, %s", step.why, changed, diff)
		}
		s = after
	}
}

func TestStatusIsBounded(t *testing.T) {
	var s status
	for i := range 500 {
		sample := at(i, nil)
		if i%3 != 0 {
			sample.ConnectErr = errors.New("refused")
		}
		s, _ = Record(s, sample)
	}
	if len(s.Successes) != KeptEntries || len(s.Failures) != KeptEntries || len(s.Outages) != KeptOutages || len(s.Conditions) != 1 {
		t.Errorf("%d successes, %d failures, %d outages, %d conditions", len(s.Successes), len(s.Failures), len(s.Outages), len(s.Conditions))
	}
	for _, o := range s.Outages {
		if len(o.StartLogs) > KeptOutageEntries || len(o.EndLogs) > KeptOutageEntries {
			t.Errorf("an outage has %d and %d entries", len(o.StartLogs), len(o.EndLogs))
		}
	}
	if newest := s.Failures[0].Start; !newest.After(s.Failures[1].Start.Time) {
		t.Error("the newest is not first")
	}
}

func TestOutageHasAStartAndAnEnd(t *testing.T) {
	var s status
	unresolved := at(3, nil)
	unresolved.ResolveErr = errors.New("no such host")
	for _, sample := range []Sample{at(0, nil), at(1, errors.New("refused")), at(2, errors.New("refused")), unresolved} {
		s, _ = Record(s, sample)
	}
	if o := s.Outages[0]; len(s.Outages) != 1 || !o.End.IsZero() || o.Message != "Connectivity outage detected" ||
		len(o.StartLogs) != 2 || o.StartLogs[0].Reason != "DNSError" || o.StartLogs[1].Reason != "TCPConnectError" {
		t.Errorf("%+v", s.Outages)
	}
	s, _ = Record(s, at(6, nil))
	o := s.Outages[0]
	if !o.Start.Time.Equal(at(1, nil).Start) || !o.End.Time.Equal(at(6, nil).Start) || o.Message != "Connectivity restored after 5m0s" ||
		len(o.EndLogs) != 4 || !o.EndLogs[0].Success || o.EndLogs[1].Success {
		t.Errorf("%+v", o)
	}
	s, _ = Record(s, at(7, errors.New("refused")))
	if len(s.Outages) != 2 || !s.Outages[0].End.IsZero() {
		t.Errorf("the next one: %+v", s.Outages)
	}
}

func TestNameResolutionIsASeparateStep(t *testing.T) {
	sample := at(0, nil)
	sample.Endpoint, sample.Resolved = "api.example.com:6443", 2*time.Millisecond
	s, _ := Record(status{}, sample)
	var reasons []string
	for _, e := range s.Successes {
		reasons = append(reasons, e.Reason)
	}
	if diff := cmp.Diff([]string{"TCPConnect", "DNSResolve"}, reasons); diff != "" {
		t.Error(diff)
	}
}
