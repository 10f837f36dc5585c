package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/links"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/daemon"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Check compares the node with the state that its agent, ovn-controller and the container runtime should have created from the Kubernetes API and the
// southbound database. It changes nothing, and works without a running agent.
func Check(ctx context.Context, o Options, p finding.Persistence) (finding.Report, error) {
	if err := o.Config.CheckNode(); err != nil {
		return finding.Report{}, err
	}
	underlay, userspace, err := daemon.Underlay(o.Config)
	if err != nil {
		return finding.Report{}, err
	}
	d := &daemonState{Options: o, underlay: underlay, userspace: userspace}
	if userspace {
		d.place = ovs.Place{Path: underlay.Path()}
	}
	return finding.Persistent(ctx, p, d.compare)
}

// compare performs one comparison.
func (d *daemonState) compare(ctx context.Context) (finding.Report, error) {
	var report finding.Report
	rows, err := d.readSwitch(ctx)
	if err != nil {
		return report, err
	}
	pods, err := d.readPods(ctx, rows)
	if err != nil {
		return report, err
	}
	report.Findings = comparePods(pods)
	about, incomplete, err := d.compareOwn(ctx, rows)
	if err != nil {
		return report, err
	}
	report.Findings = append(report.Findings, about...)
	report.Incomplete = append(report.Incomplete, incomplete...)
	program, err := d.readProgram(ctx, rows)
	if err != nil {
		report.Incomplete = append(report.Incomplete, fmt.Sprintf("tunnels and flows: %v", err))
		return report, nil
	}
	report.Findings = append(report.Findings, compareProgram(d.Node, d.desiredIDs(), program)...)
	return report, nil
}

// switchRows are the rows of Open vSwitch's database.
type switchRows struct {
	ids        map[string]string
	interfaces map[string]ovs.Interface
	// tunnels are the remote addresses of tunnels by port name.
	tunnels map[string]string
}

func (d *daemonState) readSwitch(ctx context.Context) (switchRows, error) {
	out := switchRows{interfaces: map[string]ovs.Interface{}, tunnels: map[string]string{}}
	client, err := ovsdb.Dial(ctx, d.Config.Directories.SwitchSocket())
	if err != nil {
		return out, fmt.Errorf("connect to Open vSwitch: %w", err)
	}
	defer func() { _ = client.Close() }()
	results, err := client.Transact(ctx, "Open_vSwitch", ovsdb.Select("Open_vSwitch", []string{"external_ids"}),
		ovsdb.Select("Interface", []string{"name", "type", "options", "external_ids", "ofport", "error"}))
	if err != nil {
		return out, fmt.Errorf("read Open vSwitch's database: %w", err)
	}
	for _, row := range results[0].Rows {
		out.ids = row.Map("external_ids")
	}
	for _, row := range results[1].Rows {
		out.interfaces[row.Text("name")] = ovs.Interface{ExternalIDs: row.Map("external_ids"), Port: row.Int("ofport"), Error: row.Text("error")}
		if row.Text("type") == "geneve" {
			out.tunnels[row.Text("name")] = row.Map("options")["remote_ip"]
		}
	}
	return out, nil
}

func (d *daemonState) readPods(ctx context.Context, rows switchRows) (podView, error) {
	v := podView{ports: rows.interfaces}
	list, err := d.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", d.Node).String()})
	if err != nil {
		return v, fmt.Errorf("list the pods of the node: %w", err)
	}
	v.pods = ofNode(list.Items)
	if v.records, err = cniserver.Records(attachments(d.Config.Directories)); err != nil {
		return v, err
	}
	v.links, err = d.place.Links()
	return v, err
}

// compareOwn compares the node's management port and rules.
func (d *daemonState) compareOwn(ctx context.Context, rows switchRows) (out []finding.Finding, incomplete []string, err error) {
	node, err := d.Client.CoreV1().Nodes().Get(ctx, d.Node, metav1.GetOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("read the node: %w", err)
	}
	value, annotated := node.Annotations[topology.NodeSubnets]
	if !annotated {
		return nil, []string{"management port: the node has no annotation " + topology.NodeSubnets}, nil
	}
	blocks, err := topology.DecodeNodeSubnets(value)
	if err != nil {
		return nil, nil, err
	}
	flows, err := readFlows(d.Config.Directories.NetworkFlows)
	if err != nil {
		return nil, nil, err
	}
	rules := map[string]int{}
	for family, all := range d.withExport(desiredTraffic(d.Config.ClusterNetwork(), blocks), flows.all()) {
		rules[string(family)] = len(all)
	}
	v, err := readManagement(ctx)
	if err != nil {
		return nil, nil, err
	}
	v.peer = installed(rows.interfaces[managementPeer])
	want := desiredManagement(blocks, slices.Concat(d.Config.ClusterNetwork(), d.Config.Services), mtumigration.State{MTU: d.Config.MTU})
	return compareManagement(d.Node, want, rules, v), nil, nil
}

// readManagement reads the management port and the rules of the kernel.
func readManagement(ctx context.Context) (managementView, error) {
	v := managementView{routes: map[netip.Prefix]netip.Addr{}, rules: map[string]int{}}
	for _, family := range []knftables.Family{knftables.IPv4Family, knftables.IPv6Family} {
		nft, err := knftables.New(family, table)
		if err != nil {
			return v, fmt.Errorf("use nftables: %w", err)
		}
		rules, err := nft.ListRules(ctx, postrouting)
		switch {
		case knftables.IsNotFound(err):
		case err != nil:
			return v, fmt.Errorf("read the rules of table %s: %w", table, err)
		default:
			v.rules[string(family)] = len(rules)
		}
	}
	link, err := netlink.LinkByName(topology.ManagementLink)
	if ovs.LinkMissing(err) {
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("read interface %s: %w", topology.ManagementLink, err)
	}
	v.exists = true
	addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return v, fmt.Errorf("list addresses: %w", err)
	}
	for i := range addresses {
		if p, ok := netaddr.FromIPNet(addresses[i].IPNet); ok && !p.Addr().IsLinkLocalUnicast() {
			v.addresses = append(v.addresses, p)
		}
	}
	routes, err := links.Routes(link)
	if err != nil {
		return v, err
	}
	for i := range routes {
		if to, ok := netaddr.FromIPNet(routes[i].Dst); ok {
			via, _ := netip.AddrFromSlice(routes[i].Gw) // the zero value if there is no next hop
			v.routes[to] = via.Unmap()
		}
	}
	return v, nil
}

// readProgram reads the state that ovn-controller has programmed, and the southbound database.
func (d *daemonState) readProgram(ctx context.Context, rows switchRows) (programView, error) {
	v := programView{ids: rows.ids, tunnels: rows.tunnels, peers: map[string]string{}, bound: map[uint32]string{}, ports: map[string]bool{}, owners: map[uint32]bool{}}
	for _, i := range rows.interfaces {
		v.ports[i.ExternalIDs[idInterface]] = true
	}
	var err error
	// Flows first: otherwise the row of a flow could be deleted in between.
	if v.flows, err = d.cookies(ctx); err != nil {
		return v, err
	}
	limited, cancel := context.WithTimeout(ctx, southTimeout)
	defer cancel()
	client, err := connectSouth(limited, d.Config)
	if err != nil {
		return v, fmt.Errorf("connect to the southbound database: %w", err)
	}
	defer func() { _ = client.Close() }()
	return v, d.readSouth(limited, client, &v)
}

// readSouth reads the chassis, the bindings of this node, and the UUIDs of all rows.
func (d *daemonState) readSouth(ctx context.Context, client *ovsdb.Client, v *programView) error {
	schema, err := client.Schema(ctx, southDatabase)
	if err != nil {
		return fmt.Errorf("read the schema of the southbound database: %w", err)
	}
	operations := []ovsdb.Operation{
		ovsdb.Select("Encap", []string{"chassis_name", "ip"}), ovsdb.Select("Chassis", []string{"_uuid"}, ovsdb.Equal("name", d.Node)),
		ovsdb.Select("Port_Binding", []string{"_uuid", "logical_port", "chassis", "type"}),
	}
	fixed := len(operations)
	for name := range schema.Tables {
		operations = append(operations, ovsdb.Select(name, []string{"_uuid"}))
	}
	results, err := client.Transact(ctx, southDatabase, operations...)
	if err != nil {
		return fmt.Errorf("read the southbound database: %w", err)
	}
	for _, row := range results[0].Rows {
		if name := row.Text("chassis_name"); name != d.Node {
			v.peers[name] = row.Text("ip")
		}
	}
	for _, own := range results[1].Rows {
		for _, row := range results[2].Rows {
			if row.Text("type") == "" && row.UUID("chassis") == own.UUID("_uuid") {
				v.bound[cookieOf(row.UUID("_uuid"))] = row.Text("logical_port")
			}
		}
	}
	for _, result := range results[fixed:] {
		for _, row := range result.Rows {
			v.owners[cookieOf(row.UUID("_uuid"))] = true
		}
	}
	return nil
}

// cookieOf returns ovn-controller's cookie for the flows of a row: the first 32 bits of its UUID.
func cookieOf(id ovsdb.UUID) uint32 {
	head, _, _ := strings.Cut(string(id), "-")
	n, err := strconv.ParseUint(head, 16, 32)
	if err != nil {
		return 0 // not a UUID of a server
	}
	return uint32(n)
}

// cookies returns the number of the bridge's flows by cookie.
func (d *daemonState) cookies(ctx context.Context) (map[uint32]int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ovs-ofctl", "--timeout=20", "dump-flows", "unix:"+d.Config.Directories.SwitchRun+"/"+integration+".mgmt")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("read the flows of %s: %w", integration, err)
	}
	out, scanErr := countCookies(bufio.NewScanner(pipe))
	if scanErr != nil {
		cancel() // otherwise the command would wait for a reader
	}
	if err := errors.Join(scanErr, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("read the flows of %s: %w: %s", integration, err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// countCookies parses the output of ovs-ofctl dump-flows.
func countCookies(lines *bufio.Scanner) (map[uint32]int, error) {
	lines.Buffer(nil, 1<<20)
	out := map[uint32]int{}
	for lines.Scan() {
		_, rest, found := strings.Cut(lines.Text(), "cookie=0x")
		if !found {
			continue // the header, or a flow without a cookie
		}
		text, _, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("cookie %q: %w", text, err)
		}
		out[uint32(n)]++ //nolint:gosec // ovn-controller uses 32 bits
	}
	return out, lines.Err()
}
