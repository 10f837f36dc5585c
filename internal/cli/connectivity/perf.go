package connectivity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/perf"
)

const (
	// perfPort is the port of the servers in pods and on hosts.
	perfPort = 19878
	// figures is the number of figures that a client measures in sequence.
	figures = 3
	// shortestMeasurement and longestMeasurement bound --for: a shorter stream does not reach its full speed.
	shortestMeasurement = 100 * time.Millisecond
	longestMeasurement  = time.Minute
)

func perfCommand() *cobra.Command {
	var o options
	var each time.Duration
	cmd := &cobra.Command{
		Use:   "perf",
		Short: "Measure throughput, round trips and new connections between pods",
		Long: `Creates pods of the operator's own image on two nodes, in a separate namespace, and measures from
the first node to the second, one path after another and in each IP family that pods have: the
nodes' own traffic, pod to pod, pod to Service, and pod to pod on one node. For each path it reports
the throughput of one TCP stream, the round trip of one byte, and new connections per second. The
figures of pods are compared with those of the nodes in the same run, since other traffic and the
placement of processes on CPUs affect figures more than networks do.

The traffic competes with that of the cluster: a stream uses the whole bandwidth of the link. The
namespace is always deleted, even if the command is interrupted.

Exit status: 0 every path is measured; 1 a path cannot be measured; 2 the cluster does not answer,
no pod can be started, or the command line is wrong.`,
		Example:           "  cno connectivity perf\n  cno connectivity perf --node worker-0 --node worker-1 --for 10s\n  cno connectivity perf -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.perf(cmd, each) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.nodes, "node", nil, "the node to measure from; if given twice, the second is the node to measure to (default: two ready nodes)")
	f.DurationVar(&each, "for", 3*time.Second, "how long each of the three figures of a path is measured, 100ms to 1m")
	f.StringVar(&o.image, "image", "", "image of the pods (default: that of the operator)")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to measure; cleaning up is not counted")
	o.form.Add(cmd)
	o.cluster.Add(f)
	return cmd
}

// measuredPath is the result for one path.
type measuredPath struct {
	Path   string `json:"path"`
	Family string `json:"family"`
	Error  string `json:"error,omitempty"`
	*perf.Result
	// ThroughputPercent and RoundTripFactor are relative to the path between the nodes in the same IP family; 0 if that is not measured.
	ThroughputPercent float64 `json:"throughputPercentOfNodes,omitempty"`
	RoundTripFactor   float64 `json:"roundTripTimesNodes,omitempty"`
}

// perfReport is the output.
type perfReport struct {
	From    string         `json:"from"`
	To      string         `json:"to"`
	Paths   []measuredPath `json:"paths"`
	Notes   []string       `json:"notes"`
	Seconds float64        `json:"seconds"`
}

func (o *options) perf(cmd *cobra.Command, each time.Duration) error {
	switch {
	case len(o.nodes) > 2:
		return fmt.Errorf("--node is given %d times: name the node to measure from and the one to measure to", len(o.nodes))
	case each < shortestMeasurement || each > longestMeasurement:
		return fmt.Errorf("--for %s is not between %s and %s", each, shortestMeasurement, longestMeasurement)
	}
	begin := time.Now()
	var res perfReport
	err := o.withFixture(cmd, func(ctx context.Context, s *fixture) (err error) {
		res, err = s.perf(ctx, o.nodes, each)
		return err
	})
	if err != nil {
		return err
	}
	res.Seconds = time.Since(begin).Seconds()
	if o.form.ForPeople() {
		err = res.print(cmd.OutOrStdout())
	} else {
		err = o.form.Write(cmd.OutOrStdout(), res)
	}
	for _, p := range res.Paths {
		if err == nil && p.Error != "" {
			return &exit.Code{Status: exit.Refused}
		}
	}
	return err
}

// measurement is one path to measure.
type measurement struct {
	name, family string
	// onHost is true if it is measured from the host network. own is true for the path between the nodes, the base of comparison.
	onHost, own bool
	address     string
}

// perfTarget has the addresses of the servers: pods on the far and on the near node, the host of the far node, and the Service of the far pod.
type perfTarget struct{ far, near, host, service []string }

// measurements returns the paths from one node to another in all IP families of its pods, the path between the nodes first.
func measurements(from, to string, t perfTarget) []measurement {
	var all []measurement
	for _, fam := range []string{"IPv4", "IPv6"} {
		add := func(name string, addresses []string, onHost, own bool) {
			for _, a := range addresses {
				if family(a) == fam {
					all = append(all, measurement{name, fam, onHost, own, net.JoinHostPort(a, strconv.Itoa(perfPort))})
					return
				}
			}
		}
		if from != to {
			add(fmt.Sprintf("node %s -> node %s", from, to), t.host, true, true)
			add(fmt.Sprintf("pod on %s -> pod on %s", from, to), t.far, false, false)
		}
		add(fmt.Sprintf("pod on %s -> service of the pod on %s", from, to), t.service, false, false)
		add(fmt.Sprintf("pod on %s -> pod on %s", from, from), t.near, false, false)
	}
	return all
}

// perf creates servers and measures the paths in sequence: concurrent ones would share the CPUs and the link.
func (s *fixture) perf(ctx context.Context, names []string, each time.Duration) (perfReport, error) {
	r := perfReport{Paths: []measuredPath{}, Notes: []string{}}
	places, err := s.ends(ctx, names)
	if err != nil {
		return r, err
	}
	r.From, r.To = places[0].node, places[len(places)-1].node
	if len(places) == 1 {
		r.Notes = append(r.Notes, "there is one node: paths between nodes are not measured")
	}
	if err := s.findImage(ctx); err != nil {
		return r, err
	}
	if err := s.open(ctx); err != nil {
		return r, err
	}
	s.logf("starting servers on %s", r.To)
	target, notes, err := s.perfServers(ctx, places)
	if err != nil {
		return r, err
	}
	r.Notes = append(r.Notes, notes...)
	s.working = figures * each
	own := map[string]*perf.Result{}
	for _, m := range measurements(r.From, r.To, target) {
		s.logf("measuring %s (%s)", m.name, m.family)
		result, err := s.client(ctx, r.From, m, each)
		if ctx.Err() != nil {
			return r, fmt.Errorf("measure %s: %w", m.name, ctx.Err())
		}
		path := measuredPath{Path: m.name, Family: m.family, Result: result}
		if err != nil {
			path.Error = err.Error()
		}
		if m.own {
			own[m.family] = result
		}
		r.Paths = append(r.Paths, path.beside(own[m.family], m.own))
	}
	return r, nil
}

// beside compares a path with the one between the nodes.
func (p measuredPath) beside(own *perf.Result, itself bool) measuredPath {
	if own == nil || p.Result == nil || itself {
		return p
	}
	if own.Gbps > 0 {
		p.ThroughputPercent = 100 * p.Gbps / own.Gbps
	}
	if own.RTTp50 > 0 {
		p.RoundTripFactor = p.RTTp50 / own.RTTp50
	}
	return p
}

// ends returns the nodes to measure from and to, in the order in which they are named; one if there is no other.
func (s *fixture) ends(ctx context.Context, names []string) ([]place, error) {
	places, err := s.places(ctx, names)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 && places[0].node != names[0] {
		places[0], places[len(places)-1] = places[len(places)-1], places[0]
	}
	return places[:min(len(places), 2)], nil
}

// perfServers starts servers on the pod network of both nodes and on the host of the far one, with a Service for the far pod.
func (s *fixture) perfServers(ctx context.Context, places []place) (perfTarget, []string, error) {
	near, far := places[0], places[len(places)-1]
	service, err := s.service(ctx, "perf-far", corev1.ServiceTypeClusterIP, []corev1.ServicePort{{Port: perfPort}})
	if err != nil {
		return perfTarget{}, nil, err
	}
	args := []string{"perf-server", "--listen", ":" + strconv.Itoa(perfPort)}
	pods, err := s.start(ctx, []*corev1.Pod{s.pod("perf-far", far.node, false, args), s.pod("perf-near", near.node, false, args), s.pod("perf-host", far.node, true, args)}, serving)
	if err != nil {
		return perfTarget{}, nil, err
	}
	var t perfTarget
	var notes []string
	for i, into := range []*[]string{&t.far, &t.near} {
		if pods[i] == nil {
			notes = append(notes, fmt.Sprintf("no pod can be started on the pod network of %s: its kubelet or its agent does not answer", []place{far, near}[i].node))
			continue
		}
		*into = addressesOf(pods[i])
	}
	if pods[0] != nil {
		t.service = service.Spec.ClusterIPs
	}
	if pods[2] != nil {
		t.host = far.host
	}
	if pods[0] == nil && pods[1] == nil {
		return t, nil, errors.New("no pod can be started on any node; cno doctor reports why")
	}
	return t, notes, nil
}

// client measures one path in its own pod.
func (s *fixture) client(ctx context.Context, node string, m measurement, each time.Duration) (*perf.Result, error) {
	pods, err := s.start(ctx, []*corev1.Pod{s.pod("perf-client", node, m.onHost, []string{"perf-client", m.address, "--for", each.String()})},
		func(p *corev1.Pod) bool {
			return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		})
	switch {
	case err != nil:
		return nil, err
	case pods[0] == nil:
		return nil, fmt.Errorf("the pod on %s did not end in time", node)
	}
	raw, err := s.api.CoreV1.Pods(s.namespace).GetLogs(pods[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	var result perf.Result
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, errors.New(lastLine(raw))
	}
	return &result, nil
}

func (r perfReport) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "PATH\tFAMILY\tTHROUGHPUT\tOF NODES\tROUND TRIP P50\tTIMES NODES\tP99\tCONNECTIONS") // errors come with Flush
	for _, p := range r.Paths {
		if p.Result == nil {
			_, _ = fmt.Fprintf(table, "%s\t%s\tFAIL: %s\n", p.Path, p.Family, p.Error)
			continue
		}
		share, factor := "", ""
		if p.ThroughputPercent > 0 {
			share = fmt.Sprintf("%.0f %%", p.ThroughputPercent)
		}
		if p.RoundTripFactor > 0 {
			factor = fmt.Sprintf("%.2f", p.RoundTripFactor)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%.2f Gbit/s\t%s\t%.0f µs\t%s\t%.0f µs\t%.0f/s\n", p.Path, p.Family, p.Gbps, cmp.Or(share, "-"), p.RTTp50, cmp.Or(factor, "-"), p.RTTp99, p.Connections)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, n := range r.Notes {
		if _, err := fmt.Fprintf(w, "note  %s\n", n); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "measured in %.1f s\n", r.Seconds)
	return err
}

// lastLine returns the last line of a log.
func lastLine(log []byte) string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return cmp.Or(lines[len(lines)-1], "the pod has printed nothing")
}
