package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/provider"
)

var (
	others  = flag.Int("others", 500, "number of other Services, and of other NetworkPolicies, that exist during BenchmarkChange")
	samples = flag.Int("samples", 50, "number of samples of BenchmarkChange")
)

// BenchmarkChange measures from a write to the API until a client on worker-0 sees its effect on connections to a pod on worker-1, while other Services
// and NetworkPolicies exist: the first answered connection to a new Service, the first blocked connection after a NetworkPolicy that denies all, and the
// first answered one after a NetworkPolicy that allows the client. Beside it is a bare watch of the same object. A connection is attempted every ten
// milliseconds.
func BenchmarkChange(b *testing.B) {
	c := newChange(b)
	b.Run("service", func(b *testing.B) {
		r := changes{}
		for b.Loop() {
			for range *samples {
				if err := c.service(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(*others), "others")
		r.report(b, "answered", "watch", "watch-slice")
	})
	b.Run("policy", func(b *testing.B) {
		if reason := unenforced(b); reason != "" {
			skip(b, reason)
		}
		r := changes{}
		for b.Loop() {
			for range *samples {
				if err := c.policy(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(*others), "others")
		r.report(b, "blocked", "watch-blocked", "answered", "watch-answered")
	})
}

// unenforced returns the reason of the network why NetworkPolicies have no effect; it is empty if they have.
func unenforced(b *testing.B) string {
	b.Helper()
	tracer, ok := network.Provider.(provider.Tracer)
	if !ok {
		return "the operator does not know whether the network enforces NetworkPolicies"
	}
	text, err := network.YAML(lab)
	if err != nil {
		b.Fatal(err)
	}
	var object operatorv1.Network
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		b.Fatal(err)
	}
	return tracer.Carries(&object.Spec).Unenforced
}

// changes are durations by what was waited for.
type changes map[string][]time.Duration

func (c changes) add(what string, d time.Duration) { c[what] = append(c[what], d) }

func (c changes) report(b *testing.B, order ...string) {
	b.ReportMetric(0, "ns/op")
	for _, what := range order {
		took := c[what]
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, what+"-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, what+"-p99-ms")
	}
}

// change has the pods of BenchmarkChange, and what observes them.
type change struct {
	namespace string
	// server is the pod that Services select, and address the address and port of a server to which policies apply.
	server  *corev1.Pod
	address string
	// policyFor returns a policy that allows ingress to that server from peers only; without peers it denies all.
	policyFor func(name string, peers ...networkingv1.NetworkPolicyPeer) (client.Object, error)
	probe     *prober
	// services, slices and policies are the times at which bare watches received objects.
	services, slices, policies *arrivals
	// named is the number of names that were used.
	named int
}

// name returns a name that was not used before.
func (c *change) name(prefix string) string {
	c.named++
	return fmt.Sprintf("%s-%d", prefix, c.named)
}

const role = "bench"

// newChange creates the pods, the other Services and NetworkPolicies, and the watches. All of it ends with the benchmark.
func newChange(b *testing.B) *change {
	b.Helper()
	c := &change{namespace: lab.Namespace(b)}
	run := func(name, node string) *corev1.Pod {
		pod, err := lab.RunPod(b.Context(), kit.ServerPod(c.namespace, name, node, map[string]string{role: name}))
		if err != nil {
			b.Fatal(err)
		}
		return pod
	}
	c.server = run("server", "worker-1")
	c.address = net.JoinHostPort(c.server.Status.PodIP, "8080")
	c.policyFor = func(name string, peers ...networkingv1.NetworkPolicyPeer) (client.Object, error) {
		return policy(c.namespace, name, c.server.Labels, peers...), nil
	}
	from := run("client", "worker-0")
	createOthers(b)
	var err error
	if c.probe, err = newProber(from); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.probe.close(); err != nil {
			b.Error(err)
		}
	})
	clients, err := kubernetes.NewForConfig(lab.Config)
	if err != nil {
		b.Fatal(err)
	}
	core, network, discovery := clients.CoreV1(), clients.NetworkingV1(), clients.DiscoveryV1()
	c.services = watchArrivals(b, core.Services(c.namespace).Watch, client.Object.GetName)
	c.policies = watchArrivals(b, network.NetworkPolicies(c.namespace).Watch, client.Object.GetName)
	c.slices = watchArrivals(b, discovery.EndpointSlices(c.namespace).Watch, func(o client.Object) string {
		if slice, ok := o.(*discoveryv1.EndpointSlice); ok && len(slice.Endpoints) > 0 {
			return slice.Labels[discoveryv1.LabelServiceName]
		}
		return ""
	})
	return c
}

// createOthers creates other Services and NetworkPolicies in a namespace of their own, for a server on every node.
func createOthers(b *testing.B) {
	b.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "others-"}}
	if err := lab.Client.Create(b.Context(), object); err != nil {
		b.Fatal(err)
	}
	ns := object.Name
	b.Cleanup(func() { deleteNamespace(b, object) })
	lab.ServerOnEachNode(b, ns, kit.Served())
	enforced := unenforced(b) == ""
	for i := range *others {
		name := fmt.Sprintf("other-%d", i)
		objects := []client.Object{kit.Service(ns, name, func(*corev1.ServiceSpec) {})}
		if enforced {
			objects = append(objects, policy(ns, name, kit.Served(), networkingv1.NetworkPolicyPeer{
				NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{role: name}},
			}))
		}
		for _, o := range objects {
			if err := lab.Client.Create(b.Context(), o); err != nil {
				b.Fatal(err)
			}
		}
	}
	kit.Eventually(b, 3*time.Minute, "every other Service has endpoints", func(ctx context.Context) error {
		slices := &discoveryv1.EndpointSliceList{}
		if err := lab.Client.List(ctx, slices, client.InNamespace(ns)); err != nil {
			return err
		}
		ready := 0
		for _, s := range slices.Items {
			if len(s.Endpoints) > 0 {
				ready++
			}
		}
		if ready < *others {
			return fmt.Errorf("%d of %d have", ready, *others)
		}
		return nil
	})
}

// deleteNamespace deletes a namespace and waits until its objects are deleted, which would disturb the next benchmark.
func deleteNamespace(b *testing.B, ns *corev1.Namespace) {
	b.Helper()
	err := kit.Poll(context.Background(), 3*time.Minute, func(ctx context.Context) error {
		switch err := lab.Client.Delete(ctx, ns); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil && !apierrors.IsConflict(err):
			return err
		}
		return fmt.Errorf("namespace %s is being deleted", ns.Name)
	})
	if err != nil {
		b.Error(err)
	}
}

// policy returns a NetworkPolicy that allows ingress to pods on TCP port 8080 from peers only; without peers it denies all.
func policy(ns, name string, pods map[string]string, peers ...networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: pods}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
	if len(peers) > 0 {
		p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: peers, Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(8080))}}}}
	}
	return p
}

// service creates a Service, measures until a connection to it is answered, and deletes it.
func (c *change) service(ctx context.Context, r changes) error {
	name := c.name("sample")
	s := kit.Service(c.namespace, name, func(spec *corev1.ServiceSpec) { spec.Selector = c.server.Labels })
	start := time.Now()
	if err := lab.Client.Create(ctx, s); err != nil {
		return err
	}
	at, err := c.probe.await("answered", net.JoinHostPort(s.Spec.ClusterIP, "80"))
	if err != nil {
		return err
	}
	seen, err := c.services.of(ctx, name)
	if err != nil {
		return err
	}
	slice, err := c.slices.of(ctx, name)
	if err != nil {
		return err
	}
	r.add("answered", at.Sub(start))
	r.add("watch", seen.Sub(start))
	r.add("watch-slice", slice.Sub(start))
	return lab.Client.Delete(ctx, s)
}

// policy creates a policy that denies all connections to the server, and then one that allows those of the client, and deletes both.
func (c *change) policy(ctx context.Context, r changes) error {
	if _, err := c.probe.await("answered", c.address); err != nil {
		return fmt.Errorf("without a policy: %w", err)
	}
	deny, err := c.effect(ctx, "blocked", r)
	if err != nil {
		return err
	}
	allow, err := c.effect(ctx, "answered", r, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{role: "client"}}})
	if err != nil {
		return err
	}
	return errors.Join(lab.Client.Delete(ctx, deny), lab.Client.Delete(ctx, allow))
}

// effect creates a policy and measures until it has an outcome.
func (c *change) effect(ctx context.Context, outcome string, r changes, peers ...networkingv1.NetworkPolicyPeer) (client.Object, error) {
	p, err := c.policyFor(c.name("policy"), peers...)
	if err != nil {
		return nil, err
	}
	if err := c.probe.begin(outcome, c.address); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := lab.Client.Create(ctx, p); err != nil {
		return nil, err
	}
	at, err := c.probe.result()
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.GetName(), err)
	}
	seen, err := c.policies.of(ctx, p.GetName())
	if err != nil {
		return nil, err
	}
	r.add(outcome, at.Sub(start))
	r.add("watch-"+outcome, seen.Sub(start))
	return p, nil
}

// arrivals are the times at which a watch first received objects.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

// watchArrivals watches until the benchmark ends. key returns the name under which an object is recorded, or nothing for one that is not.
func watchArrivals(b *testing.B, open func(context.Context, metav1.ListOptions) (watch.Interface, error), key func(client.Object) string) *arrivals {
	b.Helper()
	w, err := open(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	a := &arrivals{at: map[string]time.Time{}}
	go func() {
		for e := range w.ResultChan() {
			if o, ok := e.Object.(client.Object); ok {
				a.record(key(o), time.Now())
			}
		}
	}()
	return a
}

func (a *arrivals) record(key string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.at[key]; !known {
		a.at[key] = at
	}
}

// of returns when the object was received. It may be received after it has had an effect.
func (a *arrivals) of(ctx context.Context, key string) (at time.Time, err error) {
	err = kit.Poll(ctx, 10*time.Second, func(context.Context) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		var known bool
		if at, known = a.at[key]; !known {
			return fmt.Errorf("the watch has not received %s", key)
		}
		return nil
	})
	return at, err
}

// prober is netbench probe in the network namespace of a pod.
type prober struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Scanner
}

func newProber(pod *corev1.Pod) (*prober, error) {
	cmd := exec.Command(filepath.Join(lab.Root, "_output/lab-bin/lab"), "exec", pod.Spec.NodeName, "--", program(), "probe", "--in="+pod.Status.PodIP)
	cmd.Dir, cmd.Env, cmd.Stderr = lab.Root, lab.Environ(), os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &prober{cmd: cmd, input: input, output: bufio.NewScanner(output)}, cmd.Start()
}

// begin starts a probe until an outcome, whose time result returns.
func (p *prober) begin(outcome, address string) error {
	_, err := fmt.Fprintln(p.input, outcome, address)
	return err
}

func (p *prober) result() (time.Time, error) {
	if !p.output.Scan() {
		return time.Time{}, errors.Join(errors.New("netbench probe has ended"), p.output.Err())
	}
	var o struct {
		At    int64
		Error string
	}
	if err := json.Unmarshal(p.output.Bytes(), &o); err != nil {
		return time.Time{}, err
	}
	if o.Error != "" {
		return time.Time{}, errors.New(o.Error)
	}
	return time.Unix(0, o.At), nil
}

// await is begin and result.
func (p *prober) await(outcome, address string) (time.Time, error) {
	if err := p.begin(outcome, address); err != nil {
		return time.Time{}, err
	}
	return p.result()
}

// close ends the probe.
func (p *prober) close() error { return errors.Join(p.input.Close(), p.cmd.Wait()) }
