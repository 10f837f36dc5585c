package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

// assassin kills the controller at every write, twice: just before it, and just after it, when the writer does not learn that it was done.
// The third time, it lets it pass. What is killed writes nothing more.
type assassin struct {
	mu    sync.Mutex
	seen  map[string]int
	kills int
	// life is the present instance's.
	life *life
	// mercy is that no more is killed, done are the writes that were carried out.
	mercy bool
	done  []string
}

// life is an instance of the controller.
type life struct {
	dead chan struct{}
	once sync.Once
}

var errKilled = errors.New("the controller was killed")

func (a *assassin) begin() *life {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.life = &life{dead: make(chan struct{})}
	return a.life
}

func (a *assassin) strike(l *life, what string, do func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-l.dead:
		return errKilled
	default:
	}
	a.seen[what]++
	if a.mercy {
		a.seen[what] = 3
	}
	kill := func() error {
		a.kills++
		l.once.Do(func() { close(l.dead) })
		return errKilled
	}
	if a.seen[what] == 1 {
		return kill()
	}
	err := do()
	if err == nil {
		a.done = append(a.done, what)
	}
	if a.seen[what] == 2 {
		return kill()
	}
	return err
}

// killedClient writes to the API server.
type killedClient struct {
	client.Client
	a    *assassin
	life *life
}

// name distinguishes writes by their content.
func name(verb string, o client.Object) string {
	out := verb + " " + o.GetName()
	switch o := o.(type) {
	case *sdnv1.HostSubnet:
		out += strings.TrimSuffix(fmt.Sprintf(" %s", strings.Join(o.EgressIPs, ",")), " ")
	case *sdnv1.NetNamespace:
		out += strings.TrimSuffix(" "+o.Annotations[sdnv1.AnnotationChangeNetwork], " ")
	}
	return out
}

func (c killedClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.a.strike(c.life, name("create", o), func() error { return c.Client.Create(ctx, o, opts...) })
}

func (c killedClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.a.strike(c.life, name("update", o), func() error { return c.Client.Update(ctx, o, opts...) })
}

func (c killedClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.a.strike(c.life, name("delete", o), func() error { return c.Client.Delete(ctx, o, opts...) })
}

func (c killedClient) Status() client.SubResourceWriter { return killedStatus{c.Client.Status(), c} }

type killedStatus struct {
	client.SubResourceWriter
	killedClient
}

func (c killedStatus) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return c.a.strike(c.life, name("status", o), func() error { return c.SubResourceWriter.Patch(ctx, o, patch, opts...) })
}

func (c killedStatus) Create(ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
	return c.SubResourceWriter.Create(ctx, o, sub, opts...)
}

func (c killedStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return c.SubResourceWriter.Update(ctx, o, opts...)
}

// TestKilledAtAnyWriteLosesNothing lets a cluster grow, change and shrink, while the controller is killed before and after each of its
// writes. Then it is restarted once more, and writes nothing.
func TestKilledAtAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	a := &assassin{seen: map[string]int{}}
	w := newWorld(t, agentconfig.Multitenant, func(c *controller.Config) {
		c.Wrap = func(c client.Client) client.Client { return killedClient{c, a, a.begin()} }
	})
	first := map[string]string{} // the block of each Node, the VNID of each namespace
	until := func(what string, done func() bool) {
		t.Helper()
		deadline := time.Now().Add(2 * time.Minute)
		for quiet := 0; quiet < 5; time.Sleep(20 * time.Millisecond) {
			a.mu.Lock()
			l := a.life
			a.mu.Unlock()
			select {
			case <-dead(l):
				w.stop()
				a.mu.Lock()
				a.life = nil // until the next instance leads
				a.mu.Unlock()
				w.start()
				quiet = 0
				continue
			default:
			}
			w.check(first)
			if done() {
				quiet++
			} else {
				quiet = 0
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: not within two minutes, after %d kills", what, a.kills)
			}
		}
	}
	for i, n := range []string{"a", "b", "c"} {
		w.node(n, fmt.Sprint("192.0.2.", i+1))
	}
	for _, n := range []string{"x", "y", "z"} {
		w.namespace(n)
	}
	until("all have what they need", func() bool { return len(w.subnets()) == 3 && w.vnids("default", "x", "y", "z") != nil && w.connected() })
	grown := a.kills
	if grown < 18 {
		t.Errorf("the controller was killed only %d times; is every write covered?", grown)
	}

	for _, s := range w.subnets() {
		apitest.Change(t, w.api, s, func() { s.EgressCIDRs = []string{"192.0.2.128/25"} })
	}
	first["joined"] = "y to x"
	w.request("y", "join:x", "192.0.2.200")
	w.request("z", "global", "192.0.2.201")
	until("requests are answered, and egress IPs assigned", func() bool {
		v := w.vnids("default", "x", "y", "z")
		return v != nil && v["y"] == v["x"] && v["z"] == 0 && w.egressIPs() == 2 && !w.asking()
	})

	w.removeNode("a")
	w.removeNamespace("y")
	delete(first, "a")
	until("what is deleted leaves", func() bool {
		return len(w.subnets()) == 2 && w.vnids("y") == nil && w.egressIPs() == 1
	})

	w.stop()
	a.mercy = true
	a.done = nil
	w.start()
	w.namespace("late")
	until("the restarted controller works", func() bool { return w.vnids("late") != nil })
	if want := []string{"update default", "create late"}; !slices.Equal(a.done, want) {
		t.Errorf("after a restart on a settled cluster, a new namespace costs the writes %q, not %q", a.done, want)
	}
	t.Logf("killed %d times", a.kills)
}

func dead(l *life) <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.dead
}

func (w *world) subnets() map[string]*sdnv1.HostSubnet {
	w.t.Helper()
	var all sdnv1.HostSubnetList
	w.must(w.api.List(w.t.Context(), &all))
	out := map[string]*sdnv1.HostSubnet{}
	for i := range all.Items {
		out[all.Items[i].Name] = &all.Items[i]
	}
	return out
}

func (w *world) netNamespaces() []sdnv1.NetNamespace {
	w.t.Helper()
	var all sdnv1.NetNamespaceList
	w.must(w.api.List(w.t.Context(), &all))
	return all.Items
}

// vnids are those of some namespaces; nil if one has none.
func (w *world) vnids(names ...string) map[string]uint32 {
	w.t.Helper()
	out := map[string]uint32{}
	for _, n := range w.netNamespaces() {
		if slices.Contains(names, n.Name) {
			out[n.Name] = n.NetID
		}
	}
	if len(out) != len(names) {
		return nil
	}
	return out
}

func (w *world) asking() bool {
	w.t.Helper()
	return slices.ContainsFunc(w.netNamespaces(), func(n sdnv1.NetNamespace) bool { return n.Annotations[sdnv1.AnnotationChangeNetwork] != "" })
}

func (w *world) connected() bool {
	w.t.Helper()
	var all corev1.NodeList
	w.must(w.api.List(w.t.Context(), &all))
	return !slices.ContainsFunc(all.Items, func(n corev1.Node) bool {
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue
		})
	})
}

// request has a namespace ask for another VNID and for an egress IP.
func (w *world) request(name, change, ip string) {
	w.t.Helper()
	n := &sdnv1.NetNamespace{}
	w.must(w.api.Get(w.t.Context(), client.ObjectKey{Name: name}, n))
	apitest.Change(w.t, w.api, n, func() {
		n.Annotations[sdnv1.AnnotationChangeNetwork] = change
		n.EgressIPs = []string{ip}
	})
}

// egressIPs is how many nodes have. None may be on two.
func (w *world) egressIPs() int {
	w.t.Helper()
	seen := map[string]string{}
	for name, s := range w.subnets() {
		for _, ip := range s.EgressIPs {
			if other := seen[ip]; other != "" {
				w.t.Fatalf("egress IP %s is on %s and %s", ip, name, other)
			}
			seen[ip] = name
		}
	}
	return len(seen)
}

// check holds what must hold at any time: no block and no allocated VNID has two owners, and nothing changes that was given once.
func (w *world) check(first map[string]string) {
	w.t.Helper()
	var used nodeblocks.Set
	now := map[string]string{}
	for name, s := range w.subnets() {
		if !used.Add(netip.MustParsePrefix(s.Subnet)) {
			w.t.Fatalf("block %s has two owners: %v", s.Subnet, slices.Collect(maps.Keys(w.subnets())))
		}
		now[name] = s.Subnet
	}
	owner := map[uint32]string{}
	for _, n := range w.netNamespaces() {
		if n.Name != "y" && n.Name != "z" { // which ask for others
			now["vnid "+n.Name] = fmt.Sprint(n.NetID)
		}
		if n.NetID == 0 || n.Name == "y" && first["joined"] != "" {
			continue
		}
		if other := owner[n.NetID]; other != "" {
			w.t.Fatalf("VNID %d is that of %s and %s", n.NetID, n.Name, other)
		}
		owner[n.NetID] = n.Name
	}
	for name, block := range now {
		if before := first[name]; before != "" && before != block {
			w.t.Fatalf("%s had %s and has %s", name, before, block)
		}
		first[name] = block
	}
}
