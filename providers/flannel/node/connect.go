package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
)

// unansweredAfter is how long connections to an etcd address must have timed out before it is reported. The client retries every few seconds.
const unansweredAfter = 30 * time.Second

// connections records which addresses of etcd do not respond. The client works while one of them responds, so that only the connection attempts show that
// packets to another one are dropped.
type connections struct {
	now    func() time.Time
	report func([]string)
	mu     sync.Mutex
	silent map[string]time.Time
	shown  []string
}

// dial connects like net.Dialer, and records the result.
func (c *connections) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	c.record(address, err)
	return conn, err
}

// record records one attempt. A refused connection is a response: the host is reachable, and etcd does not run on it.
func (c *connections) record(address string, err error) {
	if errors.Is(err, context.Canceled) {
		return // the client was closed in the meantime
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !lost(err) {
		delete(c.silent, address)
	} else if _, known := c.silent[address]; !known {
		if c.silent == nil {
			c.silent = map[string]time.Time{}
		}
		c.silent[address] = c.now()
	}
	var show []string
	for _, a := range slices.Sorted(maps.Keys(c.silent)) {
		if c.now().Sub(c.silent[a]) >= unansweredAfter {
			show = append(show, a)
		}
	}
	if !slices.Equal(show, c.shown) {
		c.shown = show
		c.report(show)
	}
}

// lost reports whether packets are dropped, or rejected by a firewall with "no route to host" or "permission denied".
func lost(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// unansweredEtcd adds unresponsive addresses to the agent's report.
func (a *flanneld) unansweredEtcd(addresses []string) {
	var sentences []string
	for _, address := range addresses {
		sentences = append(sentences, etcdclient.TimeoutMessage(address))
	}
	var err error
	if len(sentences) > 0 {
		err = fmt.Errorf("etcd: %s", strings.Join(sentences, "; "))
	}
	a.board.Update(func(b *status) bool {
		b.UnansweredEtcd = addresses
		return true
	})
	a.board.Note(topicMembers, err)
}
