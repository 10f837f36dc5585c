package status

import (
	"fmt"
	"time"
)

// AsExpected is the reason of conditions without findings.
const AsExpected = "AsExpected"

// RolloutHung is the reason of Degraded while a rollout is stalled.
const RolloutHung = "RolloutHung"

// The reasons of this package; controllers define those of their findings. Reasons that OpenShift's operator also sets have
// the same names.
const (
	reasonStartup   = "Startup"
	reasonDown      = "WorkloadDown"
	reasonDeploying = "Deploying"
	reasonRefused   = "FailedCreate"
	reasonNoConfig  = "NoOperConfig"
	reasonNodesGone = "NodesGone"
	reasonFamilies  = "NodeAddresses"
	reasonKernels   = "NodeKernels"
)

// State is a documented state: a row of the table in docs/status.md.
type State struct {
	Effect Effect
	Reason string
	// When describes when the state holds.
	When string
}

// state is a state of one workload, with its predicate.
type state struct {
	State
	// holds reports whether the state holds, with its message. again is the duration after which it may hold without other
	// input; 0 means never.
	holds func(v view) (message string, ok bool, again time.Duration)
}

// progressingStates returns the states in which a workload is being rolled out. The first that holds is reported.
func progressingStates() []state {
	return []state{
		{State{Progressing, reasonDeploying, "a workload does not exist yet"}, func(v view) (string, bool, time.Duration) {
			return "does not exist yet", !v.exists, 0
		}},
		{State{Progressing, reasonDeploying, "a workload has changed, and its controller has not observed the change yet"}, func(v view) (string, bool, time.Duration) {
			return fmt.Sprintf("update is being processed (generation %d, observed generation %d)", v.Generation, v.Observed), v.rolling && v.Generation > v.Observed, 0
		}},
		{State{Progressing, reasonDeploying, "a workload that is not critical has no available pod yet; only its component's conditions report it"}, func(v view) (string, bool, time.Duration) {
			return fmt.Sprintf("has %d of %d pods ready", v.Available, v.Desired), v.rolling && v.NonCritical && v.Desired > 0 && v.Available == 0, 0
		}},
		{State{Progressing, reasonDeploying, "pods of the new revision are desired, and none exists"}, func(v view) (string, bool, time.Duration) {
			return "is not yet scheduled on any nodes", v.rolling && v.Desired > 0 && v.Available == 0 && len(v.Pods) == 0, 0
		}},
		{State{Progressing, reasonDeploying, "pods of an older revision remain on nodes that work"}, func(v view) (string, bool, time.Duration) {
			return fmt.Sprintf("update is rolling out (%d out of %d updated)", v.Updated, v.Desired), v.rolling && v.Updated < v.Desired-v.unreachable(), 0
		}},
		{State{Progressing, reasonDeploying, "pods of the new revision on nodes that work are not available yet"}, func(v view) (string, bool, time.Duration) {
			return fmt.Sprintf("is not available (awaiting %d nodes)", v.awaited()), v.rolling && v.awaited() > 0, 0
		}},
	}
}

// degradedStates returns the states in which a workload requires user action, the most severe first. The first that holds is reported.
func degradedStates() []state {
	all := []state{
		{State{Degraded, RolloutHung, "a rollout has made no progress for 10 minutes; the replacement of a pod by one of the same revision is not progress; at once, and Upgradeable is False too"}, rolloutStalled},
		{State{Degraded, reasonRefused, "pods cannot be created: the API server, a quota or a webhook refuses them"}, func(v view) (string, bool, time.Duration) {
			return "cannot create its pods: " + v.Refused, v.Refused != "", 0
		}},
	}
	for _, kind := range []struct {
		problem Problem
		when    string
	}{
		{CrashLoop, "a container, or an init container, terminates repeatedly; it counts until the pod has been ready for a minute"},
		{ImagePull, "an image cannot be pulled"},
		{CreateFailed, "a container cannot be created or started, for example because a Secret is missing"},
		{Failed, "a pod has failed, for example because it was evicted"},
		{Unschedulable, "a pod fits no node"},
		{NotReady, "a probe of a pod fails, or a container was OOM-killed; not during a rollout"},
		{Starting, "a pod has been starting for 10 minutes; not during a rollout"},
	} {
		all = append(all, state{State{Degraded, string(kind.problem), kind.when}, func(v view) (string, bool, time.Duration) { return v.problem(kind.problem) }})
	}
	return all
}

// rolloutStalled holds for a stalled rollout of a critical workload.
func rolloutStalled(v view) (string, bool, time.Duration) {
	if v.NonCritical || !v.exists || !v.rolling {
		return "", false, 0
	}
	last := v.lastChange()
	if left := v.deadline - v.now.Sub(last); left > 0 {
		return "", false, left
	}
	text := "rollout is not making progress - last change " + last.UTC().Format(time.RFC3339)
	if v.Refused != "" {
		text += ": its pods cannot be created: " + v.Refused
	}
	if len(v.failing) > 0 {
		text += ": " + Describe(v.failing)
	}
	return text, true, 0
}

// problem holds if kind is the most severe problem of the pods.
func (v view) problem(kind Problem) (string, bool, time.Duration) {
	if len(v.counted) == 0 || v.counted[0].Problem != kind {
		return "", false, 0
	}
	if v.rolling {
		return "rollout is not making progress - " + Describe(v.counted), true, 0
	}
	return "does not work on all nodes - " + Describe(v.counted), true, 0
}
