package master

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	southboundName = "OVN_Southbound"
	// remote is the server's source of listen addresses. It is not part of the server's arguments: a starting server does not listen for nodes.
	remote = "db:OVN_Southbound,SB_Global,connections"
)

// southbound is the southbound database, which is open to nodes only while it is complete.
type southbound struct {
	control ovs.Control
	socket  string
	target  string
	probe   time.Duration
	log     *slog.Logger

	mu sync.Mutex // serializes changes of the remote
	// closed counts how often it was closed: after that the database may be incomplete again.
	closed int
	open   bool
}

func newSouthbound(c Config) *southbound {
	scheme := "ptcp"
	if c.SouthboundTLS {
		scheme = "pssl"
	}
	host := c.SouthboundAddress.String()
	if c.SouthboundAddress.Is6() {
		host = "[" + host + "]"
	}
	return &southbound{
		control: ovs.Control(c.SouthboundControl), socket: c.SouthboundSocket, probe: c.ProbeInterval, log: c.Log,
		target: scheme + ":" + strconv.Itoa(int(c.SouthboundPort)) + ":" + host,
	}
}

// close closes the database to nodes. They keep their flows.
func (s *southbound) close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	wasOpen := s.open
	s.open = false // also if the server does not answer: when it has restarted, the database must be completed first
	remotes, err := s.control.Call(ctx, "ovsdb-server/list-remotes")
	if err == nil && strings.Contains(remotes, remote) {
		_, err = s.control.Call(ctx, "ovsdb-server/remove-remote", remote)
	}
	if err != nil {
		return fmt.Errorf("close the southbound database to nodes: %w", err)
	}
	if wasOpen {
		s.log.Info("the southbound database is closed to nodes")
	}
	return nil
}

// shut closes the database after its context has ended.
func (s *southbound) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.close(ctx); err != nil {
		s.log.Warn("southbound database", "error", err)
	}
}

// admit opens the database to nodes, unless it was closed since.
func (s *southbound) admit(ctx context.Context, since int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != since {
		return fmt.Errorf("the northbound database was lost in the meantime")
	}
	remotes, err := s.control.Call(ctx, "ovsdb-server/list-remotes")
	if err == nil && !strings.Contains(remotes, remote) {
		_, err = s.control.Call(ctx, "ovsdb-server/add-remote", remote)
	}
	if err != nil {
		return fmt.Errorf("open the southbound database to nodes: %w", err)
	}
	if !s.open {
		s.log.Info("the southbound database is open to nodes", "target", s.target)
	}
	s.open = true
	return nil
}

// state returns whether the database is open to nodes, and how often it was closed.
func (s *southbound) state() (open bool, closed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.closed
}

// run opens the database to nodes as soon as it is complete, and again after each loss of a database, until the context ends. complete waits until ovn-northd
// has written everything. nodes returns the tunnel addresses of nodes. changed is fired when those change or the database was closed.
func (s *southbound) run(ctx context.Context, complete func(context.Context) error, nodes func() map[string]netip.Addr, changed agent.Trigger, report func(error)) error {
	session := ovsdb.Session{
		Endpoints: []ovsdb.Endpoint{ovsdb.Unix(s.socket)}, Database: southboundName, Options: ovsdb.Options{MaxBackoff: ovsdb.LocalMaxBackoff},
		Report: func(_ ovsdb.Endpoint, err error) { s.log.Warn("southbound database", "error", err) },
		Serve: func(ctx context.Context, client *ovsdb.Client) error {
			defer s.shut() // a restarted server must be completed first
			agent.Loop{
				Apply: func(ctx context.Context) error {
					err := s.apply(ctx, client, complete, nodes())
					if ctx.Err() == nil {
						report(err)
					}
					return err
				},
				Interval: 30 * time.Second, Debounce: 50 * time.Millisecond, Changed: changed, Now: time.Now, Beat: &agent.Beat{},
			}.Run(ctx)
			return ctx.Err()
		},
	}
	return session.Run(ctx)
}

func (s *southbound) apply(ctx context.Context, client *ovsdb.Client, complete func(context.Context) error, nodes map[string]netip.Addr) error {
	open, since := s.state()
	if !open {
		if err := complete(ctx); err != nil {
			return fmt.Errorf("wait for ovn-northd to complete the southbound database: %w", err)
		}
	}
	if err := s.chassis(ctx, client, nodes); err != nil {
		return fmt.Errorf("write the chassis of nodes: %w", err)
	}
	if !open {
		if err := s.bind(ctx, client); err != nil {
			return fmt.Errorf("bind the ports of nodes: %w", err)
		}
	}
	if err := s.connection(ctx, client); err != nil {
		return fmt.Errorf("write the connection of nodes: %w", err)
	}
	return s.admit(ctx, since)
}

// chassis deletes the chassis of nodes that do not exist, and adds missing ones: ovn-controller adopts the chassis with its name. Without them the first nodes
// to connect would remove their tunnels to all others.
func (s *southbound) chassis(ctx context.Context, client *ovsdb.Client, nodes map[string]netip.Addr) error {
	results, err := client.Transact(ctx, southboundName, ovsdb.Select(chassisTable, []string{"_uuid", "name"}),
		ovsdb.Select(privateTable, []string{"_uuid", "name"}), ovsdb.Select("Encap", []string{"ip", "chassis_name"}))
	if err != nil {
		return err
	}
	var operations []ovsdb.Operation
	stale, missing := compareChassis(registeredOf(results[0].Rows, results[1].Rows, results[2].Rows), nodes)
	for _, r := range stale {
		operations = append(operations, ovsdb.Delete(r.table, ovsdb.Is(r.id)))
	}
	for i, name := range missing {
		encap := "encap" + strconv.Itoa(i)
		operations = append(operations,
			ovsdb.Insert("Encap", encap, map[string]any{"type": "geneve", "ip": nodes[name].String(), "chassis_name": name, "options": ovsdb.Map{"csum": "true"}}),
			ovsdb.Insert("Chassis", "", map[string]any{"name": name, "hostname": name, "encaps": ovsdb.Set{ovsdb.Named(encap)}}))
	}
	if len(operations) == 0 {
		return nil
	}
	_, err = client.Transact(ctx, southboundName, operations...)
	return err
}

// bind binds each port that is bound to no chassis to the one of its node. After the loss of a database all ports are unbound until their nodes have connected
// again, which takes seconds, and nodes that connect earlier would remove their flows to them. A node without the interface of a port removes the binding. Both
// columns are set, since ovn-controller binds only ports whose requested chassis is its own, and ovn-northd writes that only after it has seen the chassis.
func (s *southbound) bind(ctx context.Context, client *ovsdb.Client) error {
	results, err := client.Transact(ctx, southboundName, ovsdb.Select(bindingTable, []string{"_uuid", "chassis", "options"}), ovsdb.Select(chassisTable, []string{"_uuid", "name"}))
	if err != nil {
		return err
	}
	var operations []ovsdb.Operation
	ports := unbound(results[0].Rows)
	for _, chassis := range results[1].Rows {
		for _, port := range ports[chassis.Text("name")] {
			id := chassis.UUID("_uuid")
			operations = append(operations, ovsdb.Update(bindingTable, map[string]any{"chassis": id, "requested_chassis": id}, ovsdb.Is(port)))
		}
	}
	if len(operations) == 0 {
		return nil
	}
	_, err = client.Transact(ctx, southboundName, operations...)
	return err
}

// connection writes the listen address and the probe interval of the server.
func (s *southbound) connection(ctx context.Context, client *ovsdb.Client) error {
	results, err := client.Transact(ctx, southboundName, ovsdb.Select("SB_Global", []string{"connections"}), ovsdb.Select("Connection", []string{"target", "inactivity_probe"}))
	if err != nil {
		return err
	}
	probe := int(s.probe.Milliseconds())
	global, connections := results[0].Rows, results[1].Rows
	if len(global) != 1 {
		return fmt.Errorf("the southbound database has no row of SB_Global")
	}
	if len(connections) == 1 && len(global[0].UUIDs("connections")) == 1 && connections[0].Text("target") == s.target && connections[0].Int("inactivity_probe") == probe {
		return nil
	}
	_, err = client.Transact(ctx, southboundName,
		ovsdb.Update("SB_Global", map[string]any{"connections": ovsdb.Set{ovsdb.Named("nodes")}}),
		ovsdb.Insert("Connection", "nodes", map[string]any{"target": s.target, "inactivity_probe": probe}))
	return err
}

// tunnelAddresses returns the tunnel addresses of all nodes; that of a node without an address of the family is invalid.
func tunnelAddresses(o *objects, ipv6 bool) map[string]netip.Addr {
	out := map[string]netip.Addr{}
	for _, object := range o.nodes.GetStore().List() {
		if n, ok := object.(*corev1.Node); ok {
			out[n.Name] = topology.TunnelAddress(n, ipv6)
		}
	}
	return out
}
