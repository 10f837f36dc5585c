package ovs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Interface is an interface in the database of Open vSwitch.
type Interface struct {
	ExternalIDs map[string]string
	// Port is the OpenFlow port number; 0 or less while it has none.
	Port int
	// Error is the error that Open vSwitch reports.
	Error string
}

// Database is a connection to the database of Open vSwitch, with a cache of some tables. NewDatabase creates it.
type Database struct {
	session *ovsdb.Session
	cache   *ovsdb.Cache
	version *agent.Cell[int]

	mu sync.Mutex
	// interfaces are the decoded rows: decoding all of them for each of many pods that start at once would take longer than their ports.
	interfaces map[ovsdb.UUID]namedInterface
}

// namedInterface is an interface with its name.
type namedInterface struct {
	Interface
	name string
}

// NewDatabase returns a connection that Run maintains. changed is called with changes of the cache, report when a connection fails or ends.
func NewDatabase(socket string, changed func([]ovsdb.Change), report func(error)) *Database {
	d := &Database{version: agent.NewCell(0), interfaces: map[ovsdb.UUID]namedInterface{}}
	d.cache = ovsdb.NewCache(database, map[string][]string{
		"Open_vSwitch": {"external_ids", "other_config"}, "Bridge": {"name", "datapath_type"}, "Interface": {"name", "external_ids", "ofport", "error"},
	}, func(changes []ovsdb.Change) {
		d.decode(changes)
		d.version.Update(func(n *int) bool { *n++; return true })
		changed(changes)
	})
	d.session = &ovsdb.Session{
		Endpoints: []ovsdb.Endpoint{ovsdb.Unix(socket)}, Database: database, Serve: d.cache.Watch,
		Options: ovsdb.Options{MaxBackoff: ovsdb.LocalMaxBackoff},
		Report:  func(_ ovsdb.Endpoint, err error) { report(fmt.Errorf("connect to Open vSwitch: %w", err)) },
	}
	return d
}

// decode keeps the decoded interfaces up to date.
func (d *Database) decode(changes []ovsdb.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.Table != "Interface":
		case c.New == nil:
			delete(d.interfaces, c.UUID)
		default:
			d.interfaces[c.UUID] = namedInterface{Interface{ExternalIDs: c.New.Map("external_ids"), Port: c.New.Int("ofport"), Error: c.New.Text("error")}, c.New.Text("name")}
		}
	}
}

// Run maintains the connection until the context ends.
func (d *Database) Run(ctx context.Context) { _ = d.session.Run(ctx) } // it ends with the context

// Synced waits until the cache is synced. It is false if the context ends first.
func (d *Database) Synced(ctx context.Context) bool {
	select {
	case <-d.cache.Synced():
		return true
	case <-ctx.Done():
		return false
	}
}

// Configuration returns the connection; it waits up to 5 seconds for it.
func (d *Database) Configuration(ctx context.Context) (Configuration, error) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := d.session.Client(limited)
	if err != nil {
		return Configuration{}, fmt.Errorf("open vswitch is unreachable: %w", err)
	}
	return Configuration{Client: client}, nil
}

// Interfaces returns the interfaces by name. Their external IDs must not be modified.
func (d *Database) Interfaces() map[string]Interface {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]Interface, len(d.interfaces))
	for _, i := range d.interfaces {
		out[i.name] = i.Interface
	}
	return out
}

// WithoutLink returns the interfaces whose link does not exist in a namespace.
func (d *Database) WithoutLink(at Place) (map[string]Interface, error) {
	return withoutLink(d.Interfaces, at.Links)
}

// withoutLink reads the interfaces first, because the link of an interface is created before the interface.
func withoutLink(interfaces func() map[string]Interface, links func() (map[string]bool, error)) (map[string]Interface, error) {
	out := interfaces()
	exist, err := links()
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(out, func(name string, _ Interface) bool { return exist[name] })
	return out, nil
}

// Interface returns an interface by name.
func (d *Database) Interface(name string) (Interface, bool) {
	i, exists := d.Interfaces()[name]
	return i, exists
}

// HasRoot reports whether the root of the configuration has all values of a Root.
func (d *Database) HasRoot(want Root) bool {
	for _, row := range d.cache.Snapshot().Rows("Open_vSwitch") {
		return contains(row.Map("external_ids"), want.ExternalIDs) && contains(row.Map("other_config"), want.Options)
	}
	return false
}

// EnsurePort creates or updates a port. It does not write a port that is up to date, because that would remove external IDs of controllers.
func (d *Database) EnsurePort(ctx context.Context, bridge string, p Port) error {
	c, err := d.Configuration(ctx)
	if err != nil {
		return err
	}
	if i, exists := d.Interface(p.Name); exists && i.Port > 0 && contains(i.ExternalIDs, p.ExternalIDs) {
		return nil
	}
	return c.EnsurePort(ctx, bridge, p)
}

// HasBridge reports whether a bridge exists.
func (d *Database) HasBridge(b Bridge) bool {
	for _, row := range d.cache.Snapshot().Rows("Bridge") {
		if row.Text("name") == b.Name && row.Text("datapath_type") == b.datapath() {
			return true
		}
	}
	return false
}

// EnsureBridge adds a bridge if it does not exist.
func (d *Database) EnsureBridge(ctx context.Context, b Bridge) error {
	if d.HasBridge(b) {
		return nil
	}
	c, err := d.Configuration(ctx)
	if err != nil {
		return err
	}
	return c.EnsureBridge(ctx, b)
}

// DeletePort deletes a port of a bridge. A missing port is no error.
func (d *Database) DeletePort(ctx context.Context, bridge, name string) error {
	c, err := d.Configuration(ctx)
	if err != nil {
		return err
	}
	return c.DeletePort(ctx, bridge, name)
}

// Await waits until Open vSwitch has opened an interface and ready, unless it is nil, returns nil. When the context ends, it returns the last error.
func (d *Database) Await(ctx context.Context, name string, ready func(Interface) error) (Interface, error) {
	for {
		_, changed := d.version.Get()
		i, exists := d.Interface(name)
		var err error
		switch {
		case !exists:
			err = errors.New("the port is missing in Open vSwitch")
		case i.Error != "":
			err = fmt.Errorf("open vswitch reports: %s", i.Error)
		case i.Port <= 0:
			err = errors.New("open vswitch has not opened the interface yet")
		case ready != nil:
			err = ready(i)
		}
		if err == nil {
			return i, nil
		}
		if agent.Wait(ctx, changed, nil, nil); ctx.Err() != nil {
			return i, err
		}
	}
}

// contains reports whether a map has all pairs of another map.
func contains(live, want map[string]string) bool {
	for key, value := range want {
		if got, set := live[key]; !set || got != value {
			return false
		}
	}
	return true
}
