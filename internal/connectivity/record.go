package connectivity

import (
	"fmt"
	"slices"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How much the status of a check remembers. The newest is first everywhere.
const (
	// KeptEntries is how many successes, and how many failures.
	KeptEntries = 10
	// KeptOutages is how many outages, and KeptOutageEntries how many entries of the start and of the end of each.
	KeptOutages       = 20
	KeptOutageEntries = 5
)

// Reasons of the condition Reachable that entries do not have.
const reasonConnected = "TCPConnectSuccess"

// The types of others, by names that fit into a line.
type (
	status    = operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus
	condition = operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition
	// Entry is one step of a sample: a name that was resolved, or a connection.
	Entry = operatorcontrolplanev1alpha1.LogEntry
)

// Sample is one attempt to connect.
type Sample struct {
	// Start is when it began.
	Start time.Time
	// Target and Endpoint are what was connected to, for sentences.
	Target, Endpoint string
	// Resolved is how long the name took to resolve; 0 if the endpoint is an address. ResolveErr is why it could not be.
	Resolved   time.Duration
	ResolveErr error
	// Connected is how long the connection took, ConnectErr why there was none.
	Connected  time.Duration
	ConnectErr error
}

// Reached reports whether the sample was a success.
func (s Sample) Reached() bool { return s.ResolveErr == nil && s.ConnectErr == nil }

// entries are the steps of a sample, in their order.
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

// Record returns a status with a sample added, and whether it says something else than before: that the target is
// reachable, or no longer, or not for another reason. The status that it is given is not changed.
func Record(before operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus, s Sample) (after operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckStatus, news bool) {
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

// setReachable sets the condition by the last step of a sample.
func setReachable(s *status, last Entry) (news bool) {
	c := condition{Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionTrue, Reason: reasonConnected, Message: last.Message, LastTransitionTime: last.Start}
	if !last.Success {
		c.Status, c.Reason = metav1.ConditionFalse, last.Reason
	}
	i := slices.IndexFunc(s.Conditions, func(o condition) bool { return o.Type == c.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return true
	}
	have := s.Conditions[i]
	if have.Status == c.Status {
		c.LastTransitionTime = have.LastTransitionTime
	}
	s.Conditions[i] = c
	return have.Status != c.Status || have.Reason != c.Reason
}

// recordOutage begins an outage with the first failure, notes when the reason changes, and ends it with a success.
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

// newest is the entry that was added last. What a third party has written may have none.
func newest(entries []Entry) Entry {
	if len(entries) == 0 {
		return Entry{}
	}
	return entries[0]
}

func prepend[T any](list []T, first T, most int) []T {
	list = slices.Insert(list, 0, first)
	return list[:min(len(list), most)]
}

// seconds is a time as the API server keeps it.
func seconds(t time.Time) metav1.Time { return metav1.Time{Time: t.UTC().Truncate(time.Second)} }
