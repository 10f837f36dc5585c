package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

const (
	// repairTime is longer than a resync of flows, addresses and rules: an older difference is not being repaired.
	repairTime = resyncInterval + time.Second
	// compareTimeout is the timeout of a comparison.
	compareTimeout = 40 * time.Second
	wayOutAgent    = "the log of the agent (container sdn of the sdn pod on the node) has the reason; restarting the pod makes it apply everything again"
)

// serveComparison responds with the differences that persist for repairTime, and with the objects that the agent's caches lack.
func (d *daemon) serveComparison(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), compareTimeout)
	defer cancel()
	var stale []agentconfig.Difference
	var notes []string
	listed := make(chan struct{})
	go func() {
		defer close(listed)
		stale, notes = d.staleDifferences(ctx, catchUpTime)
	}()
	c, err := d.compare(ctx)
	if err == nil && len(c.Differences) > 0 {
		agent.Pause(ctx, repairTime, nil)
		first := c.Differences
		if c, err = d.compare(ctx); err == nil {
			c.Differences = slices.DeleteFunc(c.Differences, func(now agentconfig.Difference) bool { return !slices.Contains(first, now) })
		}
	}
	<-listed
	c.Differences, c.Notes = append(c.Differences, stale...), append(c.Notes, notes...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c) // fails only if the client has disconnected
}

// compare compares the node with the objects that the agent has received.
func (d *daemon) compare(ctx context.Context) (agentconfig.Comparison, error) {
	s := d.snapshot()
	want, result, err := d.compute(s)
	if err != nil {
		return agentconfig.Comparison{}, err
	}
	bridge := d.keeper.Bridge
	lines, err := bridge.Differences(ctx, result.Flows)
	if err != nil {
		return agentconfig.Comparison{}, err
	}
	meters, err := bridge.MeterDifferences(ctx, result.Flows)
	if err != nil {
		return agentconfig.Comparison{}, err
	}
	groups, err := bridge.Groups(ctx)
	if err != nil {
		return agentconfig.Comparison{}, err
	}
	tables, err := d.tableDifferences(ctx, s, want)
	if err != nil {
		return agentconfig.Comparison{}, err
	}
	names, notes := d.nameDifferences(ctx, s)
	c := agentconfig.Comparison{VNIDs: map[string]uint32{}, Notes: notes}
	for _, p := range want.Input.Pods {
		c.VNIDs[p.Namespace] = p.VNID
	}
	cause := "the agent has not applied them, or a third party changes them all the time"
	if err := d.flowsProblem(); err != nil {
		cause = err.Error()
	}
	c.Differences = slices.Concat(flowDifferences(lines, result.Flows, cause), meterDifferences(meters, cause), groupDifferences(groups),
		addressDifferences(s), vnidDifferences(s, want), egressDifferences(want.Claims, d.egress.served(), d.egress.refusals()), tables, names)
	return c, nil
}

// flowGroup groups differing flows.
type flowGroup struct {
	table  int
	object string
	extra  bool
}

var (
	tableText  = regexp.MustCompile(`\btable=(\d+)`)
	cookieText = regexp.MustCompile(`\bcookie=(0x[0-9a-f]+)`)
)

// flowDifferences returns one difference for each table and object; the object is the note of the flows.
func flowDifferences(lines []string, set openflow.Set, cause string) []agentconfig.Difference {
	counts, example := map[flowGroup]int{}, map[flowGroup]string{}
	var order []flowGroup
	for _, line := range lines {
		at := flowGroup{extra: strings.HasPrefix(line, "+")}
		if m := tableText.FindStringSubmatch(line); m != nil {
			at.table, _ = strconv.Atoi(m[1]) // at most three digits
		}
		if m := cookieText.FindStringSubmatch(line); m != nil {
			cookie, _ := strconv.ParseUint(m[1], 0, 64) // Open vSwitch prints at most 64 bits
			at.object = set.Note(cookie)
		}
		if counts[at]++; counts[at] == 1 {
			order, example[at] = append(order, at), strings.TrimLeft(line, "+-")
		}
	}
	var all []agentconfig.Difference
	for _, at := range order {
		what := fmt.Sprintf("table %d of %s lacks %s", at.table, agentconfig.Bridge, numbered(counts[at]))
		if at.extra {
			what = fmt.Sprintf("table %d of %s has %s that no object asks for", at.table, agentconfig.Bridge, numbered(counts[at]))
		}
		if at.object != "" {
			what += ": " + at.object
		}
		all = append(all, agentconfig.Difference{What: what, Cause: cause + ": " + example[at], WayOut: wayOutAgent, Critical: true})
	}
	return all
}

func numbered(flows int) string {
	if flows == 1 {
		return "1 flow"
	}
	return fmt.Sprintf("%d flows", flows)
}

func meterDifferences(meters []string, cause string) []agentconfig.Difference {
	var all []agentconfig.Difference
	for _, m := range meters {
		all = append(all, agentconfig.Difference{What: agentconfig.Bridge + ": " + m, Cause: cause, WayOut: wayOutAgent})
	}
	return all
}

func groupDifferences(groups []string) []agentconfig.Difference {
	var all []agentconfig.Difference
	for _, g := range groups {
		all = append(all, agentconfig.Difference{
			What: fmt.Sprintf("%s has group %s, and the network has no groups", agentconfig.Bridge, g), Cause: "a third party has added it",
			WayOut: fmt.Sprintf("remove it in the sdn pod of the node: ovs-ofctl -O OpenFlow15 del-groups unix:%s/%s.mgmt group_id=%s", agentconfig.SwitchRunDir, agentconfig.Bridge, g),
		})
	}
	return all
}

// addressDifferences compares the attached pods with those of the API server.
func addressDifferences(s snapshot) []agentconfig.Difference {
	var all []agentconfig.Difference
	attached, owners := map[netpolicy.ID]local{}, map[netip.Addr]netpolicy.ID{}
	for _, l := range slices.SortedFunc(slices.Values(s.Local), func(a, b local) int { return a.Compare(b.ID) }) {
		attached[l.ID] = l
		if other, taken := owners[l.Address]; taken {
			all = append(all, agentconfig.Difference{
				What: fmt.Sprintf("pods %s and %s both have the address %s", other, l.ID, l.Address), Cause: "an address file below " + s.Config.AddressDir + " was removed while its pod ran",
				WayOut: "delete the younger pod", Critical: true,
			})
		}
		owners[l.Address] = l.ID
	}
	for _, p := range s.Pods {
		id := netpolicy.ID{Namespace: p.Namespace, Name: p.Name}
		l, ok := attached[id]
		running := p.Spec.NodeName == s.Node && !p.Spec.HostNetwork && p.Status.Phase == corev1.PodRunning && len(p.Status.PodIPs) > 0
		if !running || ok && l.UID != "" && l.UID != string(p.UID) {
			continue
		}
		switch address := p.Status.PodIPs[0].IP; {
		case !ok:
			all = append(all, agentconfig.Difference{
				What:  fmt.Sprintf("pod %s runs with the address %s and has no port of %s", id, address, agentconfig.Bridge),
				Cause: "it was attached by another network, or before the state of the node was lost", WayOut: "delete the pod, so that it is attached again", Critical: true,
			})
		case address != l.Address.String():
			all = append(all, agentconfig.Difference{
				What:  fmt.Sprintf("pod %s has the address %s on %s, and %s in its status", id, l.Address, agentconfig.Bridge, address),
				Cause: "its sandbox was created again, and its kubelet has not reported that", WayOut: "restart the kubelet of the node, or delete the pod", Critical: true,
			})
		}
	}
	return all
}

// vnidDifferences returns the namespaces of local pods that have no NetNamespace.
func vnidDifferences(s snapshot, want desired) []agentconfig.Difference {
	if s.Config.Mode == agentconfig.Subnet {
		return nil
	}
	named := map[string]bool{}
	for _, n := range s.NetNamespaces {
		named[n.Name] = true
	}
	var all []agentconfig.Difference
	seen := map[string]bool{}
	for _, l := range s.Local {
		if seen[l.Namespace] || named[l.Namespace] {
			continue
		}
		seen[l.Namespace] = true
		what := fmt.Sprintf("namespace %s has no NetNamespace: its pods have no network", l.Namespace)
		if id, known := want.Input.VNIDs[l.Namespace]; known {
			what = fmt.Sprintf("namespace %s has no NetNamespace: its pods keep the VNID %d that they had", l.Namespace, id)
		}
		all = append(all, agentconfig.Difference{What: what, Cause: "openshift-sdn-controller has not created the NetNamespace, or it was deleted", WayOut: "check the sdn-controller pods"})
	}
	slices.SortFunc(all, func(a, b agentconfig.Difference) int { return strings.Compare(a.What, b.What) })
	return all
}

// egressDifferences returns the assigned egress IPs that the node does not use, with the reasons.
func egressDifferences(claims []egressip.Claim, serving map[netip.Addr]uint32, refused map[netip.Addr]string) []agentconfig.Difference {
	var all []agentconfig.Difference
	for _, c := range claims {
		if id, served := serving[c.Address]; served && id == c.VNID {
			continue
		}
		cause := refused[c.Address]
		if cause == "" {
			cause = "the agent has not taken the address yet"
		}
		all = append(all, agentconfig.Difference{
			What: fmt.Sprintf("namespace %s (VNID %d) does not leave with egress IP %s", c.Namespace, c.VNID, c.Address), Cause: cause,
			WayOut: "repair the cause, or move the address to another HostSubnet", Critical: true,
		})
	}
	return all
}

// PrintComparison requests the comparison from the running agent, and writes it to to.
func PrintComparison(ctx context.Context, c agentconfig.Config, to io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.NodeHealthAddress+agentconfig.ComparePath, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("request the comparison from the agent: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("request the comparison from the agent: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the agent cannot compare: %s", strings.TrimSpace(string(text)))
	}
	_, err = to.Write(text)
	return err
}
