package imageserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// digest stands for a document, or for a secret that must not be compared byte by byte.
type digest [sha256.Size]byte

// entry is what one document of one host became. It never changes, but for when it was replaced.
type entry struct {
	host string
	// document is of the text, which says whether it changed.
	document digest
	// secret is the part of the URL; empty if there are no images.
	secret string
	// images are by the extension of their names.
	images   map[string]*bootimage.Image
	problems nmstate.Problems
	// replaced is when another document came; zero while this is the host's.
	replaced time.Time
}

// catalog knows the hosts by name and their images by the digest of the URL's secret: finding one takes the same time
// whatever an impostor guesses right.
type catalog struct {
	mu       sync.RWMutex
	hosts    map[string]*entry
	bySecret map[digest]*entry
}

func newCatalog() catalog {
	return catalog{hosts: map[string]*entry{}, bySecret: map[digest]*entry{}}
}

// newSecret returns 128 random bits as text that is safe in a URL.
func newSecret(random io.Reader) (string, error) {
	var raw [16]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("create URL: %w", err)
	}
	return hex.EncodeToString(raw[:]), nil
}

// image returns the image of a host at a URL's secret and extension; nil if there is none.
func (c *catalog) image(secret, host, extension string) *bootimage.Image {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.bySecret[sha256.Sum256([]byte(secret))]
	if e == nil || e.host != host {
		return nil
	}
	return e.images[extension]
}

// current returns what all hosts have now, by name.
func (c *catalog) current() []*entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*entry
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		out = append(out, c.hosts[name])
	}
	return out
}

// has reports whether a host's current document is this one.
func (c *catalog) has(host string, document digest) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.hosts[host]
	return e != nil && e.document == document
}

// put makes an entry its host's, in place of the one before.
func (c *catalog) put(e *entry, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.hosts[e.host]; old != nil {
		old.replaced = now
	}
	c.hosts[e.host] = e
	if e.secret != "" {
		c.bySecret[sha256.Sum256([]byte(e.secret))] = e
	}
}

// retire ends URLs: those of hosts that are gone, and those that were replaced before a time. It returns the names of
// the hosts that are gone.
func (c *catalog) retire(alive map[string]bool, before time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for secret, e := range c.bySecret {
		if !alive[e.host] || !e.replaced.IsZero() && e.replaced.Before(before) {
			delete(c.bySecret, secret)
		}
	}
	var gone []string
	for name := range c.hosts {
		if !alive[name] {
			delete(c.hosts, name)
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return gone
}
