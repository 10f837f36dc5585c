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

// unansweredAfter is how long an address of etcd must have been silent before it is reported. The client tries again every few seconds.
const unansweredAfter = 30 * time.Second

// connections notes which addresses of etcd do not answer at all. The client keeps a connection to each of them, and works while one does: so
// only its attempts to connect show that packets to another one are dropped.
type connections struct {
	now    func() time.Time
	report func([]string)
	mu     sync.Mutex
	silent map[string]time.Time
	shown  []string
}

// dial connects like net.Dialer, and notes the result.
func (c *connections) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	c.note(address, err)
	return conn, err
}

// note takes one attempt. A refused connection is an answer: the host is reached, and etcd does not run on it.
func (c *connections) note(address string, err error) {
	if errors.Is(err, context.Canceled) {
		return // the client was closed meanwhile
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

// lost reports whether packets are lost, or a firewall refuses them with "no route to host" or "permission denied".
func lost(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// unansweredEtcd puts addresses that do not answer into the agent's report.
func (a *flanneld) unansweredEtcd(addresses []string) {
	var sentences []string
	for _, address := range addresses {
		sentences = append(sentences, etcdclient.Unanswered(address))
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
