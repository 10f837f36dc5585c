package hostnetworkconfig

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/hostsync"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

func TestRollOut(t *testing.T) {
	const wantCondition, was = "new", "old"
	node := func(name string, ready bool, result networkv1.Result, report nodereport.Report) nodeState {
		report.Node = name
		return nodeState{host: networkv1.HostStatus{Name: name, Node: name, File: "cluster.yml", SHA256: wantCondition, Result: result}, report: report, ready: ready}
	}
	old := nodereport.Report{Result: "applied", SHA256: was}
	done := nodereport.Report{Result: "applied", SHA256: wantCondition}
	back := func(attempt int32) nodereport.Report {
		return nodereport.Report{Result: "rolled-back", SHA256: wantCondition, Attempt: attempt}
	}
	want := func(attempt int32) nodereport.Request {
		return nodereport.Request{File: "cluster.yml", SHA256: wantCondition, Attempt: attempt}
	}
	for _, tt := range []struct {
		why     string
		rollout networkv1.Rollout
		nodes   []nodeState
		current nodereport.Requests
		begins  []string
		stops   bool
	}{
		{why: "one after the other", nodes: []nodeState{node("a", true, networkv1.Pending, old), node("b", true, networkv1.Pending, old)}, begins: []string{"a"}},
		{why: "two at a time", rollout: networkv1.Rollout{MaxUnavailable: 2}, begins: []string{"a", "b"},
			nodes: []nodeState{node("a", true, networkv1.Pending, old), node("b", true, networkv1.Pending, old), node("c", true, networkv1.Pending, old)}},
		{why: "a node that is asked stays it, also before the others by name", current: nodereport.Requests{"b": want(0)}, begins: []string{"b"},
			nodes: []nodeState{node("a", true, networkv1.Pending, old), node("b", true, networkv1.Pending, old)}},
		{why: "it is not counted twice while it is not ready", rollout: networkv1.Rollout{MaxUnavailable: 2}, current: nodereport.Requests{"a": want(0)}, begins: []string{"a", "b"},
			nodes: []nodeState{node("a", false, networkv1.Pending, old), node("b", true, networkv1.Pending, old)}},
		{why: "a request for an older document is void", current: nodereport.Requests{"b": {File: "cluster.yml", SHA256: was}}, begins: []string{"a"},
			nodes: []nodeState{node("a", true, networkv1.Pending, old), node("b", true, networkv1.Pending, old)}},
		{why: "the next one after an answer", current: nodereport.Requests{"a": want(0)}, begins: []string{"b"},
			nodes: []nodeState{node("a", true, networkv1.Applied, done), node("b", true, networkv1.Pending, old)}},
		{why: "nothing after a rollback", current: nodereport.Requests{"a": want(0)}, stops: true,
			nodes: []nodeState{node("a", true, networkv1.RolledBack, back(0)), node("b", true, networkv1.Pending, old)}},
		{why: "a pending request continues after a rollback on another node", rollout: networkv1.Rollout{MaxUnavailable: 2}, current: nodereport.Requests{"b": want(0)}, begins: []string{"b"}, stops: true,
			nodes: []nodeState{node("a", true, networkv1.RolledBack, back(0)), node("b", true, networkv1.Pending, old), node("c", true, networkv1.Pending, old)}},
		{why: "another attempt begins with the node that rolled back", rollout: networkv1.Rollout{Attempt: 1}, begins: []string{"a"},
			nodes: []nodeState{node("a", true, networkv1.RolledBack, back(0)), node("b", true, networkv1.Pending, old)}},
		{why: "a node that is not ready takes the place of one", nodes: []nodeState{node("a", false, networkv1.Applied, done), node("b", true, networkv1.Pending, old)}},
		{why: "a node on which the program has not run is passed over", begins: []string{"b"},
			nodes: []nodeState{node("a", true, networkv1.Pending, nodereport.Report{}), node("b", true, networkv1.Pending, old)}},
		{why: "so is one that gets no files", begins: []string{"b"},
			nodes: []nodeState{node("a", true, networkv1.Failed, nodereport.Report{Result: "applied", SHA256: was, Delivery: "no space"}), node("b", true, networkv1.Pending, old)}},
	} {
		requests, stop := rollOut(tt.rollout, tt.nodes, tt.current)
		var begins []string
		for name, request := range requests {
			begins = append(begins, name)
			if request != want(tt.rollout.Attempt) {
				t.Errorf("%s: %s is asked for %+v", tt.why, name, request)
			}
		}
		if slices.Sort(begins); !slices.Equal(begins, tt.begins) || (stop != "") != tt.stops {
			t.Errorf("%s: %v begin, and it stops: %q", tt.why, begins, stop)
		}
		for _, n := range tt.nodes {
			if _, current := requests[n.host.Node]; current != (n.host.Result == networkv1.Applying) {
				t.Errorf("%s: %s is %s", tt.why, n.host.Node, n.host.Result)
			}
		}
	}
}

// hosts are the nodes of a role with their sync agents, which talk to the API server, and the program on each, whose result is in works.
type hosts struct {
	*cluster
	agents  map[string]*hostsync.Agent
	works   map[string]bool
	applied []string
}

func newHosts(c *cluster, names ...string) *hosts {
	c.t.Helper()
	api, err := corev1client.NewForConfig(c.Config)
	if err != nil {
		c.t.Fatal(err)
	}
	h := &hosts{cluster: c, agents: map[string]*hostsync.Agent{}, works: map[string]bool{}}
	for _, name := range names {
		c.node(name)
		h.setReady(name, true)
		dir := c.t.TempDir()
		for _, d := range []string{"files", "requests", "apply"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
				c.t.Fatal(err)
			}
		}
		h.works[name] = true
		h.agents[name] = &hostsync.Agent{
			Node: name, From: filepath.Join(dir, "files"), To: filepath.Join(dir, "etc"), Requests: filepath.Join(dir, "requests", nodereport.RequestsKey),
			Request: filepath.Join(dir, "apply", "request.json"), Report: filepath.Join(dir, "report.json"), PublishInterval: time.Hour, RequestInterval: time.Hour,
			Publisher: hostsync.ConfigMaps{Client: api}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
	}
	return h
}

func (c *cluster) setReady(name string, ready bool) {
	c.t.Helper()
	var n corev1.Node
	if err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		c.t.Fatal(err)
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: "Test", LastHeartbeatTime: metav1.Now()}}
	if err := c.Server.Client.Status().Update(c.t.Context(), &n); err != nil {
		c.t.Fatal(err)
	}
}

// volume writes what a kubelet mounts of a ConfigMap.
func (h *hosts) volume(configMap, dir string) {
	h.t.Helper()
	var cm corev1.ConfigMap
	err := h.Server.Client.Get(h.t.Context(), client.ObjectKey{Namespace: nodereport.Namespace, Name: configMap}, &cm)
	if err != nil && !apierrors.IsNotFound(err) {
		h.t.Fatal(err)
	}
	for name, content := range cm.Data {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
}

// contains has the program on a host report its document.
func (h *hosts) writeReport(name, result, attempt string) {
	h.t.Helper()
	c := h.agents[name]
	content, err := os.ReadFile(filepath.Join(c.To, "cluster.yml"))
	if err != nil {
		h.t.Fatal(err)
	}
	text := fmt.Sprintf(`{"result":%q,"source":{"file":"cluster.yml","sha256":%q},"attempt":%s,"message":"as it should","time":"2026-01-01T00:00:00Z"}`, result, digest(content), attempt)
	if err := os.WriteFile(c.Report, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// turn is one round of everyone: the operator, the sync agents, and the programs that were asked.
func (h *hosts) turn() {
	h.t.Helper()
	h.reconcile()
	for name, c := range h.agents {
		h.volume("files-worker-0", c.From)
		h.volume(nodereport.RequestsName("worker"), filepath.Dir(c.Requests))
		if err := c.Once(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		text, err := os.ReadFile(c.Request)
		if err != nil {
			continue
		}
		_, attempt, _ := strings.Cut(string(text), `"attempt":`)
		h.applied = append(h.applied, name)
		h.writeReport(name, map[bool]string{true: "applied", false: "rolled-back"}[h.works[name]], strings.TrimSuffix(attempt, "}"))
		if err := os.Remove(c.Request); err != nil {
			h.t.Fatal(err)
		}
		if err := c.Once(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
	}
}

// boot has all hosts apply what they have.
func (h *hosts) boot() {
	h.t.Helper()
	h.turn()
	for name := range h.agents {
		h.writeReport(name, "applied", "0")
	}
	h.turn()
	h.reconcile()
}

func (h *hosts) did(why string, want ...string) {
	h.t.Helper()
	if !slices.Equal(h.applied, want) {
		h.t.Errorf("%s: %v applied their document, want %v", why, h.applied, want)
	}
	h.applied = nil
}

const liveWorkers = "role: worker\nrollout: {strategy: Live}\nbridge: {uplink: {interface: eno1}}"

func TestAChangeIsAppliedOnOneNodeAfterTheOther(t *testing.T) {
	c := newCluster(t, true)
	h := newHosts(c, "w-0", "w-1", "w-2")
	c.config("workers", liveWorkers)
	h.boot()
	h.did("nothing has changed")
	c.wantCondition("workers", networkv1.ConditionApplied, metav1.ConditionTrue, "AsExpected", "3 of 3")

	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Bridge.MTU = 9000 })
	h.turn()
	h.did("the first turn", "w-0")
	c.reconcile()
	status := c.get("workers").Status
	if status.AppliedNodes != 1 || status.Hosts[1].Result != networkv1.Applying || !strings.Contains(status.Hosts[2].Message, "the node waits: ") {
		t.Errorf("the status is %+v", status.Hosts)
	}
	h.turn()
	h.did("the second turn", "w-1")
	h.turn()
	h.did("the third turn", "w-2")
	h.turn()
	h.did("all have it")
	c.wantCondition("workers", networkv1.ConditionApplied, metav1.ConditionTrue, "AsExpected", "3 of 3")
	if slices.ContainsFunc(c.get("workers").Status.Rendered, func(r networkv1.RenderedObject) bool { return r.Name == nodereport.RequestsName("worker") }) {
		t.Error("requests are listed as what is rendered")
	}
}

func TestARolloutStopsAtTheFirstNodeThatRolledBack(t *testing.T) {
	c := newCluster(t, true)
	h := newHosts(c, "w-0", "w-1", "w-2")
	c.config("workers", liveWorkers)
	h.boot()
	h.works["w-1"] = false
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Bridge.MTU = 9000 })
	for range 5 {
		h.turn()
	}
	h.did("the second one rolled back", "w-0", "w-1")
	c.wantCondition("workers", networkv1.ConditionApplied, metav1.ConditionFalse, "NodesFailed", "w-1: as it should; the rollout has stopped because w-1 could not")
	if host := c.get("workers").Status.Hosts[1]; host.Result != networkv1.RolledBack {
		t.Errorf("w-1 is %+v", host)
	}

	h.works["w-1"] = true
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Rollout.Attempt = 1 })
	for range 5 {
		h.turn()
	}
	h.did("with another attempt", "w-1", "w-2")
	c.wantCondition("workers", networkv1.ConditionApplied, metav1.ConditionTrue, "AsExpected", "3 of 3")
}

func TestNodesThatAreNotReadyBlockARollout(t *testing.T) {
	c := newCluster(t, true)
	h := newHosts(c, "w-0", "w-1")
	c.config("workers", liveWorkers)
	h.boot()
	c.setReady("w-0", false)
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Bridge.MTU = 9000 })
	h.turn()
	h.did("one is down")
	if hosts := c.get("workers").Status.Hosts; !strings.Contains(hosts[0].Message, "not ready") || !strings.Contains(hosts[1].Message, "the node waits: ") {
		t.Errorf("the hosts are %+v", hosts)
	}
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Rollout.MaxUnavailable = 2 })
	h.turn()
	h.did("two may be", "w-1")
}

func TestWithoutALiveRolloutNoRequestIsMade(t *testing.T) {
	c := newCluster(t, true)
	h := newHosts(c, "w-0")
	c.config("workers", liveWorkers)
	h.boot()
	c.edit("workers", func(s *networkv1.HostNetworkConfigSpec) { s.Bridge.MTU, s.Rollout = 9000, nil })
	h.turn()
	h.did("at the next boot")
	key := client.ObjectKey{Namespace: nodereport.Namespace, Name: nodereport.RequestsName("worker")}
	if err := c.Server.Client.Get(t.Context(), key, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("there are requests: %v", err)
	}
	if host := c.get("workers").Status.Hosts[0]; host.Result != networkv1.Pending || !strings.Contains(host.Message, "at its next boot") {
		t.Errorf("the host is %+v", host)
	}
}
