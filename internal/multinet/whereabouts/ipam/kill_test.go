package ipam

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// process is the agent of a node that is killed at one of its writes: before or after the API server has carried it out. From then
// on nothing of it reaches the API server.
type process struct {
	*Handler
	left atomic.Int64
	dead atomic.Bool
}

// errKilled is an error for which nothing is repeated: a process that was killed does nothing more.
var errKilled = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("the process was killed"))

// start starts the agent of a node, which is killed at a write; 0 is never.
func (c *cluster) start(node string, at int64) *process {
	p := &process{}
	p.left.Store(at)
	write := func(do func() error) error {
		switch n := p.left.Add(-1); {
		case p.dead.Load():
			return errKilled
		case n != 0:
			return do()
		}
		if rand.IntN(2) == 0 {
			_ = do()
		}
		p.dead.Store(true)
		return errKilled
	}
	p.Handler = c.node(node, c.intercepted(interceptor.Funcs{
		Get: func(ctx context.Context, cl client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if p.dead.Load() {
				return errKilled
			}
			return cl.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, cl client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(func() error { return cl.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, cl client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return cl.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, cl client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return cl.Delete(ctx, o, opts...) })
		},
	}))
	p.store.RetryTimeout = time.Minute
	return p
}

// attach attaches pods at once, and returns the addresses of those that got one.
func attach(t *testing.T, h cniserver.Handler, calls []cniserver.Call) (map[string]string, []cniserver.Call) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	got, failed := map[string]string{}, []cniserver.Call(nil)
	for _, call := range calls {
		group.Go(func() {
			result, err := h.Add(t.Context(), call)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				got[call.ContainerID] = addresses(result)
			} else if failed = append(failed, call); !errors.Is(err, errKilled) {
				t.Errorf("%s: %v", call.ContainerID, err)
			}
		})
	}
	group.Wait()
	return got, failed
}

// 500 pods on three nodes at once, whose agents are killed ten times at any of their writes: no address twice, and none lost. A new
// agent does what cniserver does: DEL of what did not finish, and then the runtime repeats the ADD.
func TestKilledAgentsAssignNoAddressTwiceAndLoseNone(t *testing.T) {
	t.Run("with reservations", func(t *testing.T) { killAgents(t, `"range":"10.1.0.0/22"`, true) })
	// Then only the version of the pool keeps nodes apart.
	t.Run("without", func(t *testing.T) { killAgents(t, `"range":"10.1.0.0/22","enable_overlapping_ranges":false`, false) })
}

func killAgents(t *testing.T, members string, reserves bool) {
	const pods, nodes, kills = 500, 3, 10
	c := newCluster(t)
	var mu sync.Mutex
	owners := map[string]string{}
	var killed atomic.Int64
	var group sync.WaitGroup
	for n := range nodes {
		group.Go(func() {
			var waiting []cniserver.Call
			for i := n; i < pods; i += nodes {
				waiting = append(waiting, c.call(fmt.Sprint("p", i), members))
			}
			left := kills / nodes
			if n < kills%nodes {
				left++
			}
			for len(waiting) > 0 {
				at := int64(0)
				if left > 0 {
					at = 1 + rand.Int64N(30)
					if !reserves {
						at = 1 // few writes suffice for all pods of a node
					}
				}
				left--
				agent := c.start(fmt.Sprint("node", n), at)
				var cleaning sync.WaitGroup
				for _, call := range waiting {
					cleaning.Go(func() { _ = agent.Del(t.Context(), call) }) // it may be killed before it has cleaned up
				}
				cleaning.Wait()
				got, failed := attach(t, agent, waiting)
				if agent.dead.Load() {
					killed.Add(1)
				}
				if at == 0 && len(failed) > 0 {
					t.Errorf("%d failed although the agent was not killed", len(failed))
					return
				}
				mu.Lock()
				for container, address := range got {
					if other, taken := owners[address]; taken {
						t.Errorf("%s and %s have %s", other, container, address)
					}
					owners[address] = container
				}
				mu.Unlock()
				waiting = failed
			}
		})
	}
	group.Wait()
	if n := killed.Load(); n != kills {
		t.Errorf("%d of %d kills", n, kills)
	}
	pool := c.pool("10.1.0.0-22")
	got := map[string]string{}
	for offset, container := range pool {
		n, _ := strconv.Atoi(offset)
		got[fmt.Sprintf("10.1.%d.%d/22", n/256, n%256)] = container
	}
	if diff := cmp.Diff(owners, got); diff != "" {
		t.Errorf("addresses that were assigned, and those of the pool:\n%s", diff)
	}
	if len(owners) != pods {
		t.Errorf("%d of %d pods have an address", len(owners), pods)
	}
	reserved := map[string]bool{}
	for _, name := range c.reservations() {
		reserved[name] = true
	}
	for address := range owners {
		if !reserves {
			break
		}
		if name := whereabouts.ReservationName("", netip.MustParsePrefix(address).Addr()); !reserved[name] {
			t.Errorf("%s is not reserved", address)
		}
	}
	// What the kills left is bounded by what was under way; the operator's controller removes it.
	if left := len(reserved) - len(owners); left > kills*reserveAtOnceForTest {
		t.Errorf("%d reservations without an address", left)
	}
}

// reserveAtOnceForTest is how many reservations an agent may have created in a batch when it is killed: at most as many as there are pods
// on a node that wait.
const reserveAtOnceForTest = 30

// 500 pods at once, without kills: all succeed, and share writes.
func TestConcurrentRequestsShareWrites(t *testing.T) {
	c := newCluster(t)
	var writes atomic.Int64
	h := c.node("a", c.intercepted(interceptor.Funcs{
		Patch: func(ctx context.Context, cl client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			writes.Add(1)
			return cl.Patch(ctx, o, patch, opts...)
		},
	}))
	var calls []cniserver.Call
	for i := range 100 {
		calls = append(calls, c.call(fmt.Sprint("p", i), `"range":"10.1.0.0/24"`))
	}
	got, failed := attach(t, h, calls)
	if len(failed) > 0 || len(got) != len(calls) {
		t.Errorf("%d failed", len(failed))
	}
	if n := writes.Load(); n > 10 {
		t.Errorf("%d writes of the pool for %d pods at once", n, len(calls))
	}
	writes.Store(0)
	var group sync.WaitGroup
	for _, call := range calls {
		group.Go(func() {
			if err := h.Del(t.Context(), call); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := writes.Load(); n > 10 {
		t.Errorf("%d writes of the pool for %d DELs at once", n, len(calls))
	}
	if left := c.pool("10.1.0.0-24"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// BenchmarkAdd is the time of an ADD and its DEL, alone and 100 at once.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n, "_at_once"), func(b *testing.B) {
			c := newCluster(b)
			h := c.node("a")
			for b.Loop() {
				var group sync.WaitGroup
				for i := range n {
					group.Go(func() {
						call := c.call(fmt.Sprint("p", i), `"range":"10.1.0.0/24"`)
						if _, err := h.Add(b.Context(), call); err != nil {
							b.Error(err)
						}
						if err := h.Del(b.Context(), call); err != nil {
							b.Error(err)
						}
					})
				}
				group.Wait()
			}
		})
	}
}
