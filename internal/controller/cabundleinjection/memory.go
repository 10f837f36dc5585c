package cabundleinjection

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// A ConfigMap whose key a third party keeps writing is restored contestedAfter times within contestedWithin, and then with
// exponential back-off.
const (
	contestedWithin   = 10 * time.Minute
	contestedAfter    = 3
	contestedMinDelay = 10 * time.Second
	contestedMaxDelay = 10 * time.Minute
	// readInterval is the minimum interval between reads of one ConfigMap's certificates after other clients have written it.
	readInterval = 10 * time.Second
	// refusedRetry is the retry interval after a refusal whose cause is not watched.
	refusedRetry = 5 * time.Minute
)

// memory is the in-memory state of ConfigMaps that were written or refused. It may be lost at any time.
type memory struct {
	mu      sync.Mutex
	records map[types.NamespacedName]*record
	// changed is called with changes of the number of ConfigMaps in a state.
	changed func(state string, by int)
}

// record is the state of one ConfigMap.
type record struct {
	uid types.UID
	// version is the last version that the controller acted on; hash identifies the certificates that it wrote or tried to write.
	version, hash string
	at            time.Time
	// read is the time of the last read of the certificates.
	read       time.Time
	violations int
	// until is the time of the next try; zero means after a change.
	until time.Time
	// refused is the reason of the refusal; empty if it was not refused.
	refused string
	state   string
}

// States of ConfigMaps in metrics.
const (
	stateInjected, stateRefused, stateContested = "injected", "refused", "contested"
)

// decision is whether to write a ConfigMap.
type decision struct {
	// write is true to write now. If it is false, requeueAfter is the time until the next try; 0 means after a change.
	write        bool
	requeueAfter time.Duration
	// contested is true when the ConfigMap becomes contested.
	contested bool
}

// decide returns whether to write a ConfigMap that does not have the certificates.
func (m *memory) decide(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) decision {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.records[key]
	switch {
	case p == nil || p.uid != uid || p.hash != hash:
		return decision{write: true}
	case now.Before(p.until):
		return decision{requeueAfter: p.until.Sub(now)}
	case !p.until.IsZero():
		p.until = time.Time{}
		return decision{write: true}
	case !newer(version, p.version):
		return decision{} // the cache is stale, or nothing has changed since the refusal
	case p.state == stateRefused:
		return decision{write: true}
	}
	// Another client has modified the written content.
	if now.Sub(p.at) > contestedWithin {
		p.violations = 0
	}
	if p.violations++; p.violations <= contestedAfter {
		return decision{write: true}
	}
	wait := min(contestedMaxDelay, contestedMinDelay<<min(p.violations-contestedAfter-1, 10))
	p.until = now.Add(wait)
	m.move(p, stateContested)
	return decision{requeueAfter: wait, contested: true}
}

// check reports whether the certificates in a ConfigMap whose metadata claims the right ones must be read, because the controller has
// neither written nor read this version. If not now, requeueAfter is the time until then; 0 means after a change.
func (m *memory) check(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) (read bool, requeueAfter time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.records[key]
	switch {
	case p == nil || p.uid != uid || p.hash != hash:
		return true, 0
	case now.Before(p.until):
		return false, p.until.Sub(now)
	case p.until.IsZero() && !newer(version, p.version):
		if p.state == stateContested && now.Sub(p.at) > contestedWithin {
			m.move(p, stateInjected)
		}
		return false, 0
	}
	if left := p.read.Add(readInterval).Sub(now); left > 0 {
		return false, left
	}
	p.read = now
	return true, 0
}

// written records that a ConfigMap was written.
func (m *memory) written(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of(key, uid)
	p.version, p.hash, p.at, p.until, p.refused = version, hash, now, time.Time{}, ""
	if p.state != stateContested {
		m.move(p, stateInjected)
	}
}

// verified records that the certificates in a ConfigMap were read and are right.
func (m *memory) verified(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of(key, uid)
	p.version, p.hash, p.read, p.until, p.refused = version, hash, now, time.Time{}, ""
	if p.state != stateContested || now.Sub(p.at) > contestedWithin {
		m.move(p, stateInjected)
	}
}

// refuse records why a ConfigMap cannot be written, and the time until the next try; 0 means after a change. It reports whether the reason
// is new.
func (m *memory) refuse(key types.NamespacedName, uid types.UID, version, hash, why string, now time.Time, requeueAfter time.Duration) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of(key, uid)
	changed = p.refused != why
	p.version, p.hash, p.at, p.until, p.refused = version, hash, now, time.Time{}, why
	if requeueAfter > 0 {
		p.until = now.Add(requeueAfter)
	}
	m.move(p, stateRefused)
	return changed
}

// forget removes the record of a ConfigMap.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.records[key]; p != nil {
		m.changed(p.state, -1)
		delete(m.records, key)
	}
}

// of returns the record of a ConfigMap, and a new one if the UID differs.
func (m *memory) of(key types.NamespacedName, uid types.UID) *record {
	p := m.records[key]
	if p != nil && p.uid == uid {
		return p
	}
	if p != nil {
		m.changed(p.state, -1)
	}
	p = &record{uid: uid, state: stateInjected}
	m.changed(p.state, 1)
	m.records[key] = p
	return p
}

func (m *memory) move(p *record, state string) {
	if p.state != state {
		m.changed(p.state, -1)
		m.changed(state, 1)
		p.state = state
	}
}

// newer reports whether a resource version is newer than another; it returns true if they cannot be compared.
func newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order > 0
}
