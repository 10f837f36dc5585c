package connectivity

import (
	"fmt"
	"slices"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits of the status of a check. The newest entries are first.
const (
	// KeptEntries is the number of successes and of failures.
	KeptEntries = 10
	// KeptOutages is the number of outages, and KeptOutageEntries the number of entries for the start and for the end of each.
	KeptOutages       = 20
	KeptOutageEntries = 5
)

// Reasons of the condition Reachable that entries do not have.
const reasonConnected = "TCPConnectSuccess"

// Short names of API types.
type (
	status    = operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus
	condition = operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition
	// Entry is one step of a sample: a DNS lookup or a connection.
	Entry = operatorcontrolplanev1alpha1.LogEntry
)

// Sample is one attempt to connect.
type Sample struct {
	// Start is the start time.
	Start time.Time
	// Target and Endpoint name the target in messages.
	Target, Endpoint string
	// Resolved is the duration of the DNS lookup; 0 if the endpoint is an address. ResolveErr is its error.
	Resolved   time.Duration
	ResolveErr error
	// Connected is the duration of the connection attempt, ConnectErr its error.
	Connected  time.Duration
	ConnectErr error
}

// Reached reports whether the sample succeeded.
func (s Sample) Reached() bool { return s.ResolveErr == nil && s.ConnectErr == nil }

// entries returns the steps of a sample in order.
func (s Sample) entries() []Entry {
	var steps []Entry
	at := s.Start
	add := func(reason, message string, err error, took time.Duration) {
		if err != nil {
			reason, message = reason+"Error", message+": "+err.Error()
		}
		steps = append(steps, Entry{Start: seconds(at), Success: err == nil, Reason: reason, Message: s.Target + ": " + message, Latency: metav1.Duration{Duration: took}})
		at = at.Add(took)
	}
	switch {
	case s.ResolveErr != nil:
		add("DNS", "failure looking up host of "+s.Endpoint, s.ResolveErr, s.Resolved)
		return steps
	case s.Resolved > 0:
		add(operatorcontrolplanev1alpha1.LogEntryReasonDNSResolve, "resolved host of "+s.Endpoint, nil, s.Resolved)
	}
	if s.ConnectErr != nil {
		add(operatorcontrolplanev1alpha1.LogEntryReasonTCPConnect, "failed to establish a TCP connection to "+s.Endpoint, s.ConnectErr, s.Connected)
	} else {
		add(operatorcontrolplanev1alpha1.LogEntryReasonTCPConnect, "tcp connection to "+s.Endpoint+" succeeded", nil, s.Connected)
	}
	return steps
}

// Record returns a copy of a status with a sample added. changed is true if status or reason of the condition Reachable changed.
func Record(before operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus, s Sample) (after operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus, changed bool) {
	after = *before.DeepCopy()
	steps := s.entries()
	for _, e := range steps {
		if e.Success {
			after.Successes = prepend(after.Successes, e, KeptEntries)
		} else {
			after.Failures = prepend(after.Failures, e, KeptEntries)
		}
	}
	last := steps[len(steps)-1]
	recordOutage(&after, last)
	return after, setReachable(&after, last)
}

// setReachable sets the condition from the last step of a sample.
func setReachable(s *status, last Entry) (changed bool) {
	c := condition{Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionTrue, Reason: reasonConnected, Message: last.Message, LastTransitionTime: last.Start}
	if !last.Success {
		c.Status, c.Reason = metav1.ConditionFalse, last.Reason
	}
	i := slices.IndexFunc(s.Conditions, func(o condition) bool { return o.Type == c.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return true
	}
	existing := s.Conditions[i]
	if existing.Status == c.Status {
		c.LastTransitionTime = existing.LastTransitionTime
	}
	s.Conditions[i] = c
	return existing.Status != c.Status || existing.Reason != c.Reason
}

// recordOutage starts an outage at the first failure, records changes of the reason, and ends it at a success.
func recordOutage(s *status, last Entry) {
	open := len(s.Outages) > 0 && s.Outages[0].End.IsZero()
	switch {
	case !open && !last.Success:
		outage := operatorcontrolplanev1alpha1.OutageEntry{Start: last.Start, StartLogs: []Entry{last}, Message: "Connectivity outage detected"}
		s.Outages = prepend(s.Outages, outage, KeptOutages)
	case open && !last.Success:
		o := &s.Outages[0]
		if latest := newest(o.StartLogs); len(o.StartLogs) < KeptOutageEntries && latest.Reason != last.Reason {
			o.StartLogs = prepend(o.StartLogs, last, KeptOutageEntries)
		}
	case open:
		o := &s.Outages[0]
		o.End = last.Start
		o.EndLogs = []Entry{last}
		for _, e := range s.Failures[:min(len(s.Failures), KeptOutageEntries-1)] {
			if !e.Start.Before(&o.Start) {
				o.EndLogs = append(o.EndLogs, e)
			}
		}
		o.Message = fmt.Sprintf("Connectivity restored after %s", o.End.Sub(o.Start.Time))
	}
}

// newest returns the entry that was added last; zero if there is none.
func newest(entries []Entry) Entry {
	if len(entries) == 0 {
		return Entry{}
	}
	return entries[0]
}

func prepend[T any](list []T, first T, maxLength int) []T {
	list = slices.Insert(list, 0, first)
	return list[:min(len(list), maxLength)]
}

// seconds returns a time with the precision of the API server.
func seconds(t time.Time) metav1.Time { return metav1.Time{Time: t.UTC().Truncate(time.Second)} }
