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

// digest is the digest of a document, or of a secret, which must not be compared byte by byte.
type digest [sha256.Size]byte

// entry has the images of a document of a host. It is immutable except for replaced.
type entry struct {
	// key is the key of the host: its name for a document of the directory, and <namespace>/<name> for an offered one.
	key string
	// host is the name of the host, which is part of the file name in the URL.
	host string
	// document is the digest of the document, to detect changes.
	document digest
	// secret is the secret part of the URL; empty if there are no images.
	secret string
	// images are the images by file extension.
	images   map[string]*bootimage.Image
	problems nmstate.Problems
	// replaced is when another document replaced this one; zero while it is current.
	replaced time.Time
}

// catalog has the hosts by key, and their images by the digest of the URL's secret, so that lookups take constant time for guessed secrets.
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

// current returns the current entries of all hosts, by key.
func (c *catalog) current() []*entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*entry
	for _, key := range slices.Sorted(maps.Keys(c.hosts)) {
		out = append(out, c.hosts[key])
	}
	return out
}

// of returns the current entry of a host if it has this document, and nil otherwise.
func (c *catalog) of(key string, document digest) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.hosts[key]; e != nil && e.document == document {
		return e
	}
	return nil
}

// put makes an entry the current one of its host.
func (c *catalog) put(e *entry, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.hosts[e.key]; old != nil {
		old.replaced = now
	}
	c.hosts[e.key] = e
	if e.secret != "" {
		c.bySecret[sha256.Sum256([]byte(e.secret))] = e
	}
}

// expire removes entries that were replaced before a time.
func (c *catalog) expire(before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.bySecret, func(_ digest, e *entry) bool { return !e.replaced.IsZero() && e.replaced.Before(before) })
}

// remove removes all entries of the hosts whose keys a function selects, and returns these keys.
func (c *catalog) remove(selected func(key string) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.bySecret, func(_ digest, e *entry) bool { return selected(e.key) })
	var removed []string
	for key := range c.hosts {
		if selected(key) {
			delete(c.hosts, key)
			removed = append(removed, key)
		}
	}
	slices.Sort(removed)
	return removed
}
