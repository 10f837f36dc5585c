package cabundleinjection

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// How a ConfigMap is treated whose key a third party keeps writing: it is put back at once some times, and then ever more
// seldom.
const (
	contestedWithin = 10 * time.Minute
	contestedAfter  = 3
	contestedFirst  = 10 * time.Second
	contestedLast   = 10 * time.Minute
	// readEvery is how often the certificates in one ConfigMap are read at most, which is done after other clients have written it.
	readEvery = 10 * time.Second
	// refusedAgain is when what was refused by someone who may think otherwise later is tried again.
	refusedAgain = 5 * time.Minute
)

// memory is what the loop knows of ConfigMaps that it has written, or could not write. Nothing is wrong if it is lost.
type memory struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*past
	// changed is told how many ConfigMaps are in which state.
	changed func(state string, by int)
}

// past is what has happened to one ConfigMap.
type past struct {
	uid types.UID
	// version is the one that the loop has last acted on, and hash what it has put there, or tried to.
	version, hash string
	at            time.Time
	// read is when its certificates were read last.
	read    time.Time
	strikes int
	// until is when to try again; zero is when something changes.
	until time.Time
	// refused is why it could not be written.
	refused string
	state   string
}

// states of ConfigMaps, as metrics show them.
const (
	stateInjected, stateRefused, stateContested = "injected", "refused", "contested"
)

// verdict is what memory says about writing.
type verdict struct {
	// write is whether to write now; if not, again is when to look again, 0 being when something changes.
	write bool
	again time.Duration
	// contested is true when a third party is found to keep writing.
	contested bool
}

// consider says whether to write certificates to a ConfigMap that does not have them.
func (m *memory) consider(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.known[key]
	switch {
	case p == nil || p.uid != uid || p.hash != hash:
		return verdict{write: true}
	case now.Before(p.until):
		return verdict{again: p.until.Sub(now)}
	case !p.until.IsZero():
		p.until = time.Time{}
		return verdict{write: true}
	case !newer(version, p.version):
		return verdict{} // the cache does not have yet what was written, or nothing has changed since it was refused
	case p.state == stateRefused:
		return verdict{write: true}
	}
	// Someone has undone what was written.
	if now.Sub(p.at) > contestedWithin {
		p.strikes = 0
	}
	if p.strikes++; p.strikes <= contestedAfter {
		return verdict{write: true}
	}
	wait := min(contestedLast, contestedFirst<<min(p.strikes-contestedAfter-1, 10))
	p.until = now.Add(wait)
	m.move(p, stateContested)
	return verdict{again: wait, contested: true}
}

// check reports whether the certificates in a ConfigMap have to be read, whose metadata says that it has the right ones: the loop has neither
// written nor read this version. If not now, again is when; 0 is when something changes.
func (m *memory) check(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) (read bool, again time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.known[key]
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
	if left := p.read.Add(readEvery).Sub(now); left > 0 {
		return false, left
	}
	p.read = now
	return true, 0
}

// written notes that a ConfigMap has certificates in a version.
func (m *memory) written(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of(key, uid)
	p.version, p.hash, p.at, p.until, p.refused = version, hash, now, time.Time{}, ""
	if p.state != stateContested {
		m.move(p, stateInjected)
	}
}

// seen notes that the right certificates were read in a version of a ConfigMap.
func (m *memory) seen(key types.NamespacedName, uid types.UID, version, hash string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of(key, uid)
	p.version, p.hash, p.read, p.until, p.refused = version, hash, now, time.Time{}, ""
	if p.state != stateContested || now.Sub(p.at) > contestedWithin {
		m.move(p, stateInjected)
	}
}

// refuse notes why a ConfigMap cannot be written, and when to try again; 0 is when it or the certificates have changed. It
// reports whether that is news.
func (m *memory) refuse(key types.NamespacedName, uid types.UID, version, hash, why string, now time.Time, again time.Duration) (news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of(key, uid)
	news = p.refused != why
	p.version, p.hash, p.at, p.until, p.refused = version, hash, now, time.Time{}, why
	if again > 0 {
		p.until = now.Add(again)
	}
	m.move(p, stateRefused)
	return news
}

// forget drops what is known of a ConfigMap.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.known[key]; p != nil {
		m.changed(p.state, -1)
		delete(m.known, key)
	}
}

// of returns what is known of a ConfigMap, nothing if it is another one of the same name.
func (m *memory) of(key types.NamespacedName, uid types.UID) *past {
	p := m.known[key]
	if p != nil && p.uid == uid {
		return p
	}
	if p != nil {
		m.changed(p.state, -1)
	}
	p = &past{uid: uid, state: stateInjected}
	m.changed(p.state, 1)
	m.known[key] = p
	return p
}

func (m *memory) move(p *past, state string) {
	if p.state != state {
		m.changed(p.state, -1)
		m.changed(state, 1)
		p.state = state
	}
}

// newer reports whether a version of an object is a later one than another; versions that cannot be compared are.
func newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order > 0
}
