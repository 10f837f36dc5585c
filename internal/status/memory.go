package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ConfigMapName is the ConfigMap in the operator's namespace in which the status loop keeps its memory and the
// conditions of controllers that have no object of their own.
const ConfigMapName = "operator-status"

// The keys of that ConfigMap: the memory, the conditions of controllers as a JSON list, and the versions in which
// components run as a JSON object.
const (
	KeyMemory      = "memory"
	KeyControllers = "controllers"
	KeyVersions    = "versions"
)

// Memory is what a decision needs to know of those before it, and cannot read off the objects. The zero value knows
// nothing, as on a fresh cluster. It is never changed; each decision has a new one.
type Memory struct {
	// Seen says since when something has been so, by a key.
	Seen map[string]time.Time `json:"seen,omitempty"`
	// Rollouts says how far each workload is.
	Rollouts map[string]Rollout `json:"rollouts,omitempty"`
	// Installed are the components that have been available at some time, in order; the empty name is the network.
	Installed []string `json:"installed,omitempty"`
}

// Rollout is how far a workload is.
type Rollout struct {
	// Settled is the last revision that ran everywhere, empty if none has.
	Settled string `json:"settled,omitempty"`
	// Revision is what is being rolled out, Since is when that began. Empty means that nothing is.
	Revision string    `json:"revision,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	// Furthest is how many pods of the revision there have been at most, and Advanced when the last of these was created: one that is
	// created in the place of another is no progress.
	Furthest int32     `json:"furthest,omitempty"`
	Advanced time.Time `json:"advanced,omitzero"`
}

// noted is how often it is noted at most that a rollout advances: each time is a write.
const noted = time.Minute

// advance notes how far a workload is with its revision.
func (r *Rollout) advance(l Live, now time.Time) {
	if l.Observed < l.Generation || l.Updated <= r.Furthest || r.Furthest > 0 && l.Updated < l.Desired && now.Sub(r.Advanced) < noted {
		return
	}
	r.Furthest, r.Advanced = l.Updated, r.Since
	for _, p := range l.Pods {
		if p.Created.After(r.Advanced) && !p.Created.After(now) {
			r.Advanced = p.Created
		}
	}
}

// Encode writes a memory down: the same for the same memory. Fractions of seconds are dropped.
func (m Memory) Encode() (string, error) {
	kept := Memory{Seen: map[string]time.Time{}, Rollouts: map[string]Rollout{}, Installed: m.Installed}
	for key, since := range m.Seen {
		kept.Seen[key] = since.UTC().Truncate(time.Second)
	}
	for key, r := range m.Rollouts {
		r.Since, r.Advanced = r.Since.UTC().Truncate(time.Second), r.Advanced.UTC().Truncate(time.Second)
		kept.Rollouts[key] = r
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("encode memory of status: %w", err)
	}
	return string(text), nil
}

// DecodeMemory reads what Encode wrote. Empty text is the zero memory.
func DecodeMemory(text string) (Memory, error) {
	var m Memory
	if text == "" {
		return m, nil
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Memory{}, fmt.Errorf("decode memory of status: %w", err)
	}
	slices.Sort(m.Installed)
	m.Installed = slices.Compact(m.Installed)
	return m, nil
}

// installed reports whether a component has been available at some time.
func (m Memory) installed(component string) bool {
	_, found := slices.BinarySearch(m.Installed, component)
	return found
}

// with returns a memory that knows that components have been available, too.
func (m Memory) with(components []string) Memory {
	all := append(slices.Clone(m.Installed), components...)
	slices.Sort(all)
	m.Installed = slices.Compact(all)
	return m
}

// since returns since when something has been so: what is remembered, or when the objects say, or now. What lies in the
// future, since a clock was set back or clocks differ, counts from now.
func (in Input) since(d *Decision, key string, known time.Time) time.Time {
	since, remembered := in.Memory.Seen[key]
	if !remembered || !known.IsZero() && known.Before(since) {
		since = known
	}
	if since.IsZero() || since.After(in.Now) {
		since = in.Now
	}
	d.Memory.Seen[key] = since
	return since
}

// Equal reports whether two memories are the same when they are written down.
func (m Memory) Equal(other Memory) bool {
	a, errA := m.Encode()
	b, errB := other.Encode()
	return errA == nil && errB == nil && a == b
}

// forget drops the rollouts of workloads that are no longer wanted. As long as it is not known completely what is wanted,
// it drops none.
func (d *Decision) forget(in Input) {
	if in.Applied && !in.Absent {
		return // those that are wanted are there already
	}
	wanted := map[string]bool{}
	for _, w := range in.Wanted {
		wanted[w.id()] = true
	}
	for id, r := range in.Memory.Rollouts {
		if !wanted[id] {
			d.Memory.Rollouts[id] = r
		}
	}
}

// carryOver keeps what was remembered while loops may not have said anything yet.
func (d *Decision) carryOver(in Input) {
	for key, since := range in.Memory.Seen {
		if _, again := d.Memory.Seen[key]; !again && in.Starting {
			d.Memory.Seen[key] = since
		}
	}
}

// heard returns what controllers said before the process began, of those that have not said anything since.
func heard(in Input) []Finding {
	if !in.Starting {
		return nil
	}
	var found []Finding
	for _, c := range in.PreviousControllers {
		for _, effect := range effects {
			component, is := strings.CutSuffix(c.Type, string(effect))
			spoken := slices.ContainsFunc(in.Findings, func(f Finding) bool { return f.Component == component })
			if is && IsController(component) && !spoken {
				found = append(found, Finding{Component: component, Effect: effect, Reason: c.Reason, Message: c.Message, Immediate: true})
			}
		}
	}
	return found
}
