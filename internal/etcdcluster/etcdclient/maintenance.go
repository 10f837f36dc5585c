package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maintenanceTimeout is the timeout of compaction and defragmentation; defragmentation copies the database.
const maintenanceTimeout = 2 * time.Minute

// anyKey is a key that is read to get the current revision from the response header.
const anyKey = "cno"

// Database is the status of a member's database.
type Database struct {
	// ID is etcd's ID of the member.
	ID uint64
	// Size is the size of the file, and InUse the part of it that has data, in bytes.
	Size, InUse int64
	Leader      bool
	// NoSpace is true while the alarm NOSPACE of any member is active, during which etcd refuses all writes.
	NoSpace bool
}

// Maintenance maintains the databases of an etcd.
type Maintenance interface {
	// Compact removes the history of all keys up to the current revision.
	Compact(ctx context.Context) error
	// Defragment releases the free space of one member's database. The member does not answer requests meanwhile.
	Defragment(ctx context.Context, clientURL string) error
	// Snapshot returns a snapshot of a member's database, followed by its SHA-256 checksum. The caller closes it.
	Snapshot(ctx context.Context) (io.ReadCloser, error)
	// Disarm disarms the alarm NOSPACE of all members.
	Disarm(ctx context.Context) error
}

func databaseOf(s *clientv3.StatusResponse) Database {
	out := Database{ID: s.Header.GetMemberId(), Size: s.DbSize, InUse: s.DbSizeInUse, Leader: s.Leader == s.Header.GetMemberId()}
	for _, text := range s.Errors {
		out.NoSpace = out.NoSpace || strings.Contains(text, etcdserverpb.AlarmType_NOSPACE.String())
	}
	return out
}

func (c *connection) Compact(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout)
	defer cancel()
	resp, err := c.client.Get(ctx, anyKey, clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("read the revision of etcd: %w", c.explain(err, c.target.Endpoints...))
	}
	_, err = c.client.Compact(ctx, resp.Header.GetRevision(), clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact etcd at revision %d: %w", resp.Header.GetRevision(), err)
	}
	return nil
}

func (c *connection) Defragment(ctx context.Context, clientURL string) error {
	ctx, cancel := context.WithTimeout(ctx, maintenanceTimeout)
	defer cancel()
	if _, err := c.client.Defragment(ctx, clientURL); err != nil {
		return fmt.Errorf("defragment etcd at %s: %w", clientURL, c.explain(err, clientURL))
	}
	return nil
}

func (c *connection) Snapshot(ctx context.Context) (io.ReadCloser, error) {
	stream, err := c.client.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("take snapshot of etcd: %w", c.explain(err, c.target.Endpoints...))
	}
	return stream, nil
}

func (c *connection) Disarm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.target.Timeout)
	defer cancel()
	resp, err := c.client.AlarmList(ctx)
	if err != nil {
		return fmt.Errorf("list alarms of etcd: %w", err)
	}
	for _, a := range resp.Alarms {
		if a.GetAlarm() != etcdserverpb.AlarmType_NOSPACE {
			continue
		}
		if _, err := c.client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: a.GetMemberID(), Alarm: a.GetAlarm()}); err != nil {
			return fmt.Errorf("disarm alarm %s of member %x of etcd: %w", a.GetAlarm(), a.GetMemberID(), err)
		}
	}
	return nil
}
