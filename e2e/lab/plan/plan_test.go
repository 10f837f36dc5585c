package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

func TestUp(t *testing.T) {
	want := `create the underlay
create the node of cp-0, create the node of worker-0
start etcd of cp-0, start containerd of cp-0, start containerd of worker-0
start kube-apiserver of cp-0
await the API server of cp-0, load images of cp-0, load images of worker-0
await the cluster
start kube-controller-manager of cp-0, start kube-scheduler of cp-0, start kubelet of cp-0, start kubelet of worker-0, apply add-ons
await the registration of cp-0, await the registration of worker-0, await the service accounts`
	if diff := cmp.Diff(want, describe(Up(newTopology(t, 1, 1)))); diff != "" {
		t.Error(diff)
	}
}

func TestOpenShiftAPIsAreAppliedBeforeTheLabIsUp(t *testing.T) {
	lab := newTopology(t, 1, 1)
	lab.OpenShift = true
	if got := describe(Up(lab)); !strings.Contains(got, "apply add-ons, apply OpenShift's kinds and objects\nawait the registration") {
		t.Error(got)
	}
}

// TestExternalHostsStartWithTheNodes also shows that nothing of a cluster runs on them.
func TestExternalHostsStartWithTheNodes(t *testing.T) {
	lab := newTopology(t, 1, 0)
	lab.Links = []topology.Link{{Number: 1}, {Number: 2, DHCP: true}}
	got := strings.SplitN(describe(Up(lab)), "\n", 4)
	want := []string{
		"create the underlay",
		"create the node of cp-0, create the node of outside1, create the node of outside2",
		"start etcd of cp-0, start containerd of cp-0, start dnsmasq of outside2",
	}
	if diff := cmp.Diff(want, got[:3]); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got[3], "outside") {
		t.Errorf("afterwards: %s", got[3])
	}
	for i, want := range []string{"create the node of outside1", "create the node of outside2\nstart dnsmasq of outside2"} {
		if diff := cmp.Diff(want, describe(Node(lab, lab.OutsideHosts()[i]))); diff != "" {
			t.Errorf("after a power cut:\n%s", diff)
		}
	}
}

func TestNode(t *testing.T) {
	lab := newTopology(t, 1, 1)
	tests := map[string]string{
		"cp-0": `create the node of cp-0
start containerd of cp-0
start etcd of cp-0
start kube-apiserver of cp-0
await the API server of cp-0
load images of cp-0
start kube-controller-manager of cp-0, start kube-scheduler of cp-0, start kubelet of cp-0
await the registration of cp-0`,
		"worker-0": `create the node of worker-0
start containerd of worker-0
load images of worker-0
start kubelet of worker-0
await the registration of worker-0`,
	}
	for name, want := range tests {
		n, err := lab.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, describe(Node(lab, n))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestEverythingANodeRunsIsStartedOnce(t *testing.T) {
	lab := newTopology(t, 3, 5)
	lab.KubeProxy = true
	started := map[Action]int{}
	for _, stage := range Up(lab) {
		for _, a := range stage {
			if a.Verb == Start {
				started[a]++
			}
		}
	}
	// Seven programs a control-plane node and three a worker.
	if want := 3*7 + 5*3; len(started) != want {
		t.Errorf("%d units are started, want %d", len(started), want)
	}
	for a, n := range started {
		if n != 1 {
			t.Errorf("%s happens %d times", a, n)
		}
	}
}

func TestStageNamesEachThingOnce(t *testing.T) {
	stage := Stage{
		{Verb: Start, Node: "cp-0", Unit: "kubelet"}, {Verb: Start, Node: "worker-0", Unit: "kubelet"}, {Verb: ApplyAddons},
	}
	if got, want := stage.String(), "start kubelet, apply add-ons"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func describe(p Plan) string {
	var stages []string
	for _, stage := range p {
		actions := make([]string, 0, len(stage))
		for _, a := range stage {
			actions = append(actions, a.String())
		}
		stages = append(stages, strings.Join(actions, ", "))
	}
	return strings.Join(stages, "\n")
}

func newTopology(t *testing.T, controlPlanes, workers int) topology.Topology {
	t.Helper()
	lab, err := topology.New(topology.Options{ControlPlanes: controlPlanes, Workers: workers, Family: topology.IPv4})
	if err != nil {
		t.Fatal(err)
	}
	return lab
}
