package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ConfigMapName is the ConfigMap in the operator's namespace that stores the memory of decisions and the conditions of
// controllers that have no object of their own.
const ConfigMapName = "operator-status"

// The keys of that ConfigMap: the memory, the conditions of controllers as a JSON list, and the versions in which
// components run as a JSON object.
const (
	KeyMemory      = "memory"
	KeyControllers = "controllers"
	KeyVersions    = "versions"
)

// Memory is the state that a decision needs from earlier ones and that the objects do not contain. The zero value is that of
// a new cluster. It is immutable; each decision has a new one.
type Memory struct {
	// Seen has the times since which findings hold, by key.
	Seen map[string]time.Time `json:"seen,omitempty"`
	// Rollouts has the rollout of each workload, by its id.
	Rollouts map[string]Rollout `json:"rollouts,omitempty"`
	// Installed are the components that have ever been available, sorted; the empty name is the network.
	Installed []string `json:"installed,omitempty"`
}

// Rollout is the progress of the rollout of a workload.
type Rollout struct {
	// Settled is the last revision whose rollout finished; empty if there is none.
	Settled string `json:"settled,omitempty"`
	// Revision is the revision that is being rolled out, Since the start of the rollout. Empty means that there is no rollout.
	Revision string    `json:"revision,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	// Furthest is the highest number of pods of the revision so far, and Advanced the creation time of the last of these: a pod that
	// replaces another one is no progress.
	Furthest int32     `json:"furthest,omitempty"`
	Advanced time.Time `json:"advanced,omitzero"`
}

// advanceInterval is the minimum time between two records of progress, since each one causes a write.
const advanceInterval = time.Minute

// advance records the progress of a workload.
func (r *Rollout) advance(l Live, now time.Time) {
	if l.Observed < l.Generation || l.Updated <= r.Furthest || r.Furthest > 0 && l.Updated < l.Desired && now.Sub(r.Advanced) < advanceInterval {
		return
	}
	r.Furthest, r.Advanced = l.Updated, r.Since
	for _, p := range l.Pods {
		if p.Created.After(r.Advanced) && !p.Created.After(now) {
			r.Advanced = p.Created
		}
	}
}

// Encode returns the deterministic JSON of a memory. Fractions of seconds are dropped.
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

// DecodeMemory decodes the result of Encode. Empty text is the zero memory.
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

// installed reports whether a component has ever been available.
func (m Memory) installed(component string) bool {
	_, found := slices.BinarySearch(m.Installed, component)
	return found
}

// with returns a memory that also has components as installed.
func (m Memory) with(components []string) Memory {
	all := append(slices.Clone(m.Installed), components...)
	slices.Sort(all)
	m.Installed = slices.Compact(all)
	return m
}

// since returns the time since which a finding holds: the earlier of the remembered time and known, or now. Times in the
// future, which result from clock changes, count as now.
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

// Equal reports whether two memories have the same encoding.
func (m Memory) Equal(other Memory) bool {
	a, errA := m.Encode()
	b, errB := other.Encode()
	return errA == nil && errB == nil && a == b
}

// forget drops the rollouts of workloads that are no longer desired. It drops none while the desired workloads are not known
// completely.
func (d *Decision) forget(in Input) {
	if in.Applied && !in.Absent {
		return // the desired workloads are in d.Memory already
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

// carryOver keeps the remembered times until all controllers have reported.
func (d *Decision) carryOver(in Input) {
	for key, since := range in.Memory.Seen {
		if _, again := d.Memory.Seen[key]; !again && in.Starting {
			d.Memory.Seen[key] = since
		}
	}
}

// previousFindings returns the findings of the published conditions of controllers that have not reported since the start.
func previousFindings(in Input) []Finding {
	if !in.Starting {
		return nil
	}
	var found []Finding
	for _, c := range in.PreviousControllers {
		for _, effect := range effects {
			component, ok := strings.CutSuffix(c.Type, string(effect))
			reported := slices.ContainsFunc(in.Findings, func(f Finding) bool { return f.Component == component })
			if ok && IsController(component) && !reported {
				found = append(found, Finding{Component: component, Effect: effect, Reason: c.Reason, Message: c.Message, Immediate: true})
			}
		}
	}
	return found
}
