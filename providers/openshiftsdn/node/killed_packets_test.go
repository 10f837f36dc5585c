package node_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// retried calls a request until it succeeds, as a container runtime does, and returns the last error after a minute.
func retried(request func() error) error {
	deadline := time.Now().Add(eventually.Limit)
	for {
		err := request()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// assigned returns the addresses that are assigned on the node, sorted.
func (m *machine) assigned(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(m.config.AddressDir, agentconfig.Plugin))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, f := range files {
		if a, err := netip.ParseAddr(f.Name()); err == nil {
			out = append(out, a.String())
		}
	}
	slices.Sort(out)
	return out
}

// attached returns the addresses of the pods' ports in Open vSwitch, sorted.
func (m *machine) attached(t *testing.T) []string {
	t.Helper()
	out := strings.Fields(netns.Run(t, "ovs-vsctl", "--db=unix:"+m.config.SwitchRunDir+"/db.sock", "--bare", "--columns=external_ids", "find", "Interface", "external_ids:sandbox!=none"))
	addresses := []string{}
	for _, field := range out {
		if a, is := strings.CutPrefix(field, "ip="); is {
			addresses = append(addresses, a)
		}
	}
	slices.Sort(addresses)
	return addresses
}

// kills is how often the agent is killed in TestAgentKilledInsideRequests: make e2e-all sets CNO_AGENT_KILLS; fewer take less time.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("CNO_AGENT_KILLS")); err == nil {
		return n
	}
	return 5
}

// TestAgentKilledInsideRequests: requests that are pending when the agent is killed succeed when they are repeated. No address is assigned twice, and none
// remains without a pod.
func TestAgentKilledInsideRequests(t *testing.T) {
	_, one, two := running(t, agentconfig.NetworkPolicy)
	far := two.pod("two", "far", nil)
	const parallel, span = 4, time.Second // requests take less than that
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var former []*pod
	for round := range kills() {
		var next []*pod
		for i := range parallel {
			next = append(next, one.schedule("one", fmt.Sprintf("p%d-%d", round, i), nil))
		}
		var requests sync.WaitGroup
		errs := make(chan error, 2*parallel)
		for _, p := range next {
			requests.Go(func() { errs <- retried(p.add) })
		}
		for _, p := range former {
			requests.Go(func() { errs <- retried(p.del) })
		}
		time.Sleep(time.Duration(random.Int64N(int64(span))))
		one.agent.Kill()
		one.startAgent()
		requests.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Errorf("round %d, a request fails after the agent was killed: %v", round, err)
			}
		}
		want := []string{}
		for _, p := range next {
			want = append(want, p.address.String())
		}
		slices.Sort(want)
		if unique := slices.Compact(slices.Clone(want)); len(unique) != parallel {
			t.Fatalf("round %d: %d pods have the addresses %v", round, parallel, want)
		}
		if diff := cmp.Diff(want, one.assigned(t)); diff != "" {
			t.Errorf("round %d: assigned addresses (-of pods +assigned):\n%s", round, diff)
		}
		if diff := cmp.Diff(want, one.attached(t)); diff != "" {
			t.Errorf("round %d: ports (-of pods +attached):\n%s", round, diff)
		}
		former = next
	}
	one.ready()
	for _, p := range former {
		nodetest.Reaches(t, p.Namespace, far.address, podMTU)
		if err := p.check(); err != nil {
			t.Errorf("CHECK of %s: %v", p.name, err)
		}
	}
}
