package node

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/host/kernelwatch"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// flowsDebounce is how long the agent waits for further changes before it computes flows.
const flowsDebounce = 5 * time.Millisecond

// inputsInterval is how often the agent checks for the inputs of the first flows, and of those after an outage of the API server.
const inputsInterval = 50 * time.Millisecond

// programLoop computes the flows after each change until the context ends.
func (d *daemon) programLoop(ctx context.Context) {
	for ctx.Err() == nil {
		agent.Wait(ctx, d.reprogram, nil, nil)
		agent.Pause(ctx, flowsDebounce, nil)
		if !d.objects.synced() || d.objects.resuming() || !d.vswitch.Synced(ctx) || !d.checkInputs() {
			agent.Pause(ctx, inputsInterval, nil)
			d.reprogram.Fire()
			continue
		}
		if _, err := d.program(); err != nil {
			d.board.Note(topicObjects, err)
		}
	}
}

// checkInputs reports whether the inputs of the first flows are known, including the egress IPs of the node and the states of other nodes. The flows of an
// earlier process stay until then.
func (d *daemon) checkInputs() bool {
	if d.inputsReady.Load() {
		return true
	}
	want, err := desire(d.snapshot())
	if err != nil {
		return true // program reports it
	}
	if !d.egress.reconciled.Load() {
		d.egress.changed.Fire()
		return false
	}
	if !d.probesDecided(want.Probes) {
		return false
	}
	d.inputsReady.Store(true)
	return true
}

// program computes the current flows and the kernel rules that belong to them, of what was known at the call or later. The returned channel is closed when the
// bridge has these flows or later ones. Concurrent calls share a computation, which is that of all pods of the node.
func (d *daemon) program() (<-chan struct{}, error) { return d.programs.Get() }

// computeProgram is program for all callers that wait for the same computation.
func (d *daemon) computeProgram() (<-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changes := d.objects.takeChanges()
	s := d.snapshotLocked()
	want, result, err := d.compute(s)
	if err != nil {
		d.objects.returnChanges(changes)
		return nil, err
	}
	// Errors in tenants' objects are reported, but do not make the node unready.
	var problems []error
	for _, p := range append(want.Problems, result.Problems...) {
		problems = append(problems, errors.New(p))
	}
	for _, owner := range slices.Sorted(maps.Keys(result.Closed)) {
		problems = append(problems, errors.New(closedText(d.Node, owner, result.Closed[owner])))
	}
	d.board.Note(topicObjects, errors.Join(problems...))
	known := map[string]uint32{}
	for _, p := range want.Input.Pods {
		known[p.Namespace] = p.VNID
	}
	d.saveVNIDs(known)
	d.names.watch(d.lifetime, want.Names)
	if d.outside != nil {
		d.outside.set(outsideRules(want.Input))
	}
	d.reporter.Report(topicObjects, slices.Concat(want.Unresolved, want.Lost, closedProblems(s, result.Closed)))
	d.monitor.Watch(d.lifetime, want.Probes)
	if nodes := nodeAddresses(s); !slices.Equal(want.Claims, d.claims) || !slices.Equal(nodes, d.nodes) {
		d.claims, d.nodes = want.Claims, nodes
		d.egress.changed.Fire()
	}
	applied := d.keeper.Set(result.Flows)
	d.observeLatency(changes, applied)
	return applied, nil
}

// observeLatency observes the time from changes of objects to the application of their flows. Changes without an effect on the flows of this node, and objects
// that exist when the agent starts, do not count.
func (d *daemon) observeLatency(changes map[string]time.Time, applied <-chan struct{}) {
	if len(changes) == 0 || !d.programmed.Load() {
		return
	}
	select {
	case <-applied:
		return // the bridge already had these flows
	default:
	}
	go func() {
		select {
		case <-d.lifetime.Done():
		case <-applied:
			for kind, at := range changes {
				d.metrics.programming.WithLabelValues(kind).Observe(time.Since(at).Seconds())
			}
		}
	}()
}

// saveVNIDs saves the VNIDs of namespaces with pods on this node, which the next process loads.
func (d *daemon) saveVNIDs(known map[string]uint32) {
	if maps.Equal(known, d.known) {
		return
	}
	d.known = known
	if err := agent.SaveState(vnidFile(d.Config), known); err != nil {
		d.Log.Warn("cannot save the VNIDs of pods", "error", err)
	}
}

func (d *daemon) snapshot() snapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.snapshotLocked()
}

func (d *daemon) snapshotLocked() snapshot {
	o := d.objects
	return snapshot{
		Node: d.Node, Config: d.Config, Local: d.locals(), Known: d.known, Resolve: d.names.get, Missing: d.names.missing, Probed: d.monitor.State, Serving: d.egress.served(),
		HostSubnets: list[*sdnv1.HostSubnet](o.hostSubnets), NetNamespaces: list[*sdnv1.NetNamespace](o.netNamespaces),
		Firewalls: list[*sdnv1.EgressNetworkPolicy](o.firewalls), Pods: list[*corev1.Pod](o.pods),
		Namespaces: list[*corev1.Namespace](o.namespaces), Policies: list[*networkingv1.NetworkPolicy](o.policies),
	}
}

// load loads the state of an earlier process: the VNIDs of pods, the releases of addresses, and the flows that are used until the API server responds.
func (d *daemon) load() error {
	known, _, err := agent.LoadState[map[string]uint32](vnidFile(d.Config))
	d.known = known
	kept, found, flowsErr := agent.LoadState[savedFlows](flowsFile(d.Config))
	if found && kept.Mode == d.Config.Mode && kept.VXLANPort == d.Config.VXLANPort {
		d.saved = kept.Flows
		d.keeper.Set(openflow.Verbatim(kept.Flows))
	}
	return errors.Join(err, flowsErr, durable.Clean(flowsFile(d.Config)), d.addresses.load())
}

// savedFlows is the content of the flows file: the flows that were applied or about to be applied, and the settings that they depend on.
type savedFlows struct {
	Mode      agentconfig.Mode `json:"mode"`
	VXLANPort int              `json:"vxlanPort"`
	Flows     string           `json:"flows"`
}

// saveFlows saves flows for the next process before they are applied. So a process that is killed at any time leaves either the flows that the bridge has, or those
// that it was about to get: its successor neither removes flows that are in use nor restores obsolete ones. Pods that start wait for this, but not for the
// disk: after a power failure there are no pods that could use these flows.
func (d *daemon) saveFlows(set openflow.Set) {
	text := set.String()
	if text == d.saved {
		return
	}
	d.saved = ""
	file := flowsFile(d.Config)
	data, err := json.Marshal(savedFlows{d.Config.Mode, d.Config.VXLANPort, text})
	if err == nil {
		err = durable.Replace(file, data, 0o600)
	}
	if err != nil {
		d.Log.Warn("cannot save the flows", "error", errors.Join(err, durable.Remove(file))) // earlier flows are worse than none
		return
	}
	d.saved = text
}

// noteLoop saves the notes of applied flows, which cno trace reads, until the context ends. Nothing waits for them.
func (d *daemon) noteLoop(ctx context.Context) {
	for {
		set, changed := d.noted.Get()
		// Flows of an earlier process have no notes, so the saved notes stay.
		if notes := set.Notes(); len(notes) > 0 {
			if err := agent.SaveState(filepath.Join(d.Config.StateDir, agentconfig.NotesFile), agentconfig.EncodeNotes(notes)); err != nil {
				d.Log.Warn("cannot save the notes of flows", "error", err)
			}
		}
		if ctx.Err() != nil {
			return
		}
		agent.Wait(ctx, changed, nil, nil)
	}
}

func vnidFile(c agentconfig.Config) string  { return filepath.Join(c.StateDir, "vnids.json") }
func flowsFile(c agentconfig.Config) string { return filepath.Join(c.StateDir, "flows.json") }

// attachments returns the directory with one file for each attachment.
func attachments(c agentconfig.Config) string { return filepath.Join(c.StateDir, "attachments") }

// oldConfiguration is the name of the CNI configuration of older releases, which was not a list.
const oldConfiguration = "80-openshift-network.conf"

func cniFile(c agentconfig.Config) cniconf.File {
	return cniconf.File{Dir: c.CNI.ConfDir, Name: agentconfig.ConfigurationList}
}

// configurationList returns the CNI configuration, and the plugins that it needs.
func configurationList(c agentconfig.Config) ([]byte, []string, error) {
	type shim struct {
		Type   string `json:"type"`
		Socket string `json:"socket"`
	}
	l := cniconf.List{CNIVersion: "1.1.0", Name: agentconfig.Plugin, Plugins: []any{
		shim{Type: agentconfig.Plugin, Socket: c.CNI.Socket}, cniconf.NewPortMap(),
	}, MultiNetwork: c.CNI.MultiNetwork}
	data, err := l.Encode()
	return data, append(l.Programs(), agentconfig.Plugin, "portmap", "loopback"), err
}

// watchKernel triggers a reconcile when a third party changes interfaces or routes.
func (d *daemon) watchKernel(ctx context.Context) {
	pools := d.Config.Pools()
	for ctx.Err() == nil {
		link := d.link.Load()
		watching, stop := context.WithTimeout(ctx, resyncInterval)
		err := kernelwatch.Watch(watching, kernelwatch.Filter{Links: []int{int(link)}, Route: func(p netip.Prefix) bool {
			for _, pool := range append([]netip.Prefix{d.Config.ServiceNetwork}, pools...) {
				if pool == p {
					return true
				}
			}
			return false
		}}, d.changed.Fire)
		stop()
		d.board.Note(topicKernel, err)
		if err != nil {
			agent.Pause(ctx, time.Second, nil)
		}
	}
}
