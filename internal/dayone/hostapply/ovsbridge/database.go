// Package ovsbridge reads and writes the bridges of Open vSwitch's database, for backends that drive Open vSwitch themselves. A
// change is one transaction: a process that dies leaves the bridges as they were or as they are wanted, and
// nothing between. It changes only bridges that the caller names; what OVN adds to them is kept.
package ovsbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// ErrAbsent is that no Open vSwitch runs on the host.
var ErrAbsent = errors.New("open vswitch does not run on this host")

// settle is how long ovs-vswitchd may take to do what its database says.
const settle = 20 * time.Second

const database = "Open_vSwitch"

// Database is the OVSDB server of this host, by its socket.
type Database struct{ Socket string }

// Contents is what the database says.
type Contents struct {
	Bridges []livestate.Bridge `json:"bridges"`
	Switch  livestate.Switch   `json:"switch"`
}

// AddTo completes what the kernel says of a host: the bridges, and, for links that are ports of one, which. The kernel
// itself knows of its own datapath at most, and calls that the controller of all of them.
func (c Contents) AddTo(s *livestate.State) {
	s.OVS, s.Switch = c.Bridges, c.Switch
	for _, b := range c.Bridges {
		for _, p := range b.Ports {
			for _, i := range p.Interfaces {
				if link, ok := s.Link(i.Name); ok && i.Name != b.Name {
					link.Controller = b.Name
				}
			}
		}
	}
}

// Change is what Ensure makes so.
type Change struct {
	// Bridges are those that are there afterwards. One without a datapath gets the kernel's, or, where Open vSwitch cannot use that one,
	// the datapath in user space.
	Bridges []livestate.Bridge
	// Absent names bridges that must go.
	Absent []string
	Switch nmstate.OVSDatabase
	// Exact bridges have nothing but what the goal has; otherwise keys and patch ports that others added stay.
	Exact bool
}

// Read returns the contents. It is ErrAbsent if nothing listens on the socket.
func (d Database) Read(ctx context.Context) (Contents, error) {
	c, err := d.dial(ctx)
	if err != nil {
		return Contents{}, err
	}
	defer func() { _ = c.Close() }()
	t, err := read(ctx, c)
	if err != nil {
		return Contents{}, err
	}
	return t.contents(), nil
}

// Ensure makes a change in one transaction, and waits until ovs-vswitchd has made it true. It returns what
// ovs-vswitchd could not do, as far as it says so.
func (d Database) Ensure(ctx context.Context, change Change) error {
	c, err := d.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	_, changed, err := c.Monitor(ctx, database, map[string][]string{"Open_vSwitch": {"cur_cfg", datapathTypes}})
	if err != nil {
		return err
	}
	t, err := read(ctx, c)
	if err != nil {
		return err
	}
	if !change.Exact && slices.ContainsFunc(change.Bridges, withoutDatapath) {
		if err := chooseDatapath(ctx, c, changed, &change); err != nil {
			return err
		}
		if t, err = read(ctx, c); err != nil { // it may have waited
			return err
		}
	}
	p := planner{tables: t, change: change}
	operations := p.plan()
	// Bridges that are in the database may still not be there: ovs-vswitchd has just started, perhaps. So it is asked
	// to say that it has seen everything even where there is nothing to change.
	if len(operations) == 0 && len(change.Bridges) == 0 {
		return nil
	}
	operations = append(operations,
		ovsdb.Mutate("Open_vSwitch", "next_cfg", "+=", 1),
		ovsdb.Select("Open_vSwitch", []string{"next_cfg"}))
	results, err := c.Transact(ctx, database, operations...)
	if err != nil {
		return fmt.Errorf("change the bridges of open vswitch: %w", err)
	}
	rows := results[len(operations)-1].Rows
	if len(rows) == 0 {
		return errors.New("the database of open vswitch is not initialized")
	}
	number := rows[0].Int("next_cfg")
	_, err = wait(ctx, c, changed, "cur_cfg", func(row ovsdb.Row) bool { return row.Int("cur_cfg") >= number })
	return err
}

// datapathTypes is the column in which ovs-vswitchd lists the datapaths that it can use on this host, which it does once it has started.
const datapathTypes = "datapath_types"

func withoutDatapath(b livestate.Bridge) bool { return b.Datapath == "" }

// chooseDatapath gives the bridges without a datapath the one in user space if the kernel has none. It waits for an ovs-vswitchd that
// has not started yet: a bridge of a datapath that the host lacks would never exist.
func chooseDatapath(ctx context.Context, c *ovsdb.Client, changed <-chan struct{}, change *Change) error {
	row, err := wait(ctx, c, changed, datapathTypes, func(row ovsdb.Row) bool { return len(row.Strings(datapathTypes)) > 0 })
	if err != nil || slices.Contains(row.Strings(datapathTypes), "system") {
		return err
	}
	change.Bridges = slices.Clone(change.Bridges)
	for n := range change.Bridges {
		if withoutDatapath(change.Bridges[n]) {
			change.Bridges[n].Datapath = "netdev"
		}
	}
	return nil
}

// ForgetOVN clears the setting of OVN's controller from which database it gets its flows, if it was set before this boot: those flows
// are as old. OVN is configured again when it is started. ErrAbsent is that there is no Open vSwitch.
func (d Database) ForgetOVN(ctx context.Context) error {
	const key, nowhere = "ovn-remote", " "
	contents, err := d.Read(ctx)
	if err != nil || strings.TrimSpace(contents.Switch.ExternalIDs[key]) == "" {
		return err
	}
	value := nowhere
	return d.Ensure(ctx, Change{Switch: nmstate.OVSDatabase{ExternalIDs: nmstate.Pairs{key: &value}}})
}

// wait returns the column of Open vSwitch's own row when ovs-vswitchd has written there what is waited for.
func wait(ctx context.Context, c *ovsdb.Client, changed <-chan struct{}, column string, done func(ovsdb.Row) bool) (ovsdb.Row, error) {
	for {
		results, err := c.Transact(ctx, database, ovsdb.Select("Open_vSwitch", []string{column}))
		if err != nil {
			return nil, err
		}
		if len(results[0].Rows) > 0 && done(results[0].Rows[0]) {
			return results[0].Rows[0], nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for ovs-vswitchd: %w", ctx.Err())
		case _, open := <-changed:
			if !open {
				return nil, errors.New("the database of open vswitch went away")
			}
		}
	}
}

func (d Database) dial(ctx context.Context) (*ovsdb.Client, error) {
	c, err := ovsdb.Dial(ctx, d.Socket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w (%s)", ErrAbsent, d.Socket)
	}
	return c, err
}

// Affected returns the names of the bridges that a document's bridges take something from, or are.
func Affected(before []livestate.Bridge, doc *nmstate.Document) []string {
	var names []string
	members := map[string]bool{}
	for n := range doc.Interfaces {
		if i := &doc.Interfaces[n]; i.Kind() == nmstate.TypeOVSBridge {
			names = append(names, i.Name)
			for _, m := range i.Members() {
				members[m] = true
			}
		}
	}
	for _, b := range before {
		for _, p := range b.Ports {
			if slices.ContainsFunc(p.Interfaces, func(i livestate.BridgeInterface) bool { return members[i.Name] }) {
				names = append(names, b.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Wanted returns the change that a document asks for.
func Wanted(doc *nmstate.Document) Change {
	change := Change{Switch: livestate.SwitchWanted(doc)}
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if i.Kind() != nmstate.TypeOVSBridge || i.State == nmstate.StateIgnore {
			continue
		}
		if !i.Up() {
			change.Absent = append(change.Absent, i.Name)
			continue
		}
		change.Bridges = append(change.Bridges, livestate.BridgeWanted(i, doc))
	}
	return change
}

// Undo returns the change that brings affected bridges back to what they were.
func Undo(before Contents, affected []string, doc *nmstate.Document) Change {
	change := Change{Exact: true}
	for _, name := range affected {
		i := slices.IndexFunc(before.Bridges, func(b livestate.Bridge) bool { return b.Name == name })
		if i < 0 {
			change.Absent = append(change.Absent, name)
		} else {
			change.Bridges = append(change.Bridges, before.Bridges[i])
		}
	}
	wanted := livestate.SwitchWanted(doc)
	change.Switch.ExternalIDs = revert(wanted.ExternalIDs, before.Switch.ExternalIDs)
	change.Switch.OtherConfig = revert(wanted.OtherConfig, before.Switch.OtherConfig)
	return change
}

// revert gives each key that was set the value that it had; nil if it had none.
func revert(wanted nmstate.Pairs, before map[string]string) nmstate.Pairs {
	if len(wanted) == 0 {
		return nil
	}
	out := nmstate.Pairs{}
	for key := range wanted {
		out[key] = nil
		if value, had := before[key]; had {
			out[key] = &value
		}
	}
	return out
}
