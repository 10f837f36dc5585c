package node_test

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// The large cluster of BenchmarkMaster: its nodes exist in the API only.
const (
	largeNodes      = 500
	largePods       = 5000
	largeNamespaces = 100
	largeServices   = 500 // with ten endpoints each
	largePolicies   = 500
	// largeLimit is that of a step, such as what ovn-northd computes for all nodes.
	largeLimit = 15 * time.Minute
)

// BenchmarkMaster runs the master as a process of its own in a large cluster, with real databases and ovn-northd: the first start, in which nodes and pods get
// their blocks and addresses, a restart, the loss of the northbound database, and a minute without changes.
func BenchmarkMaster(b *testing.B) {
	c := newCluster(b)
	c.masterAccount()
	c.populate()
	one := c.node()
	for _, command := range []string{"nb-ovsdb", "sb-ovsdb", "run-ovn-northd"} {
		one.start(command)
	}
	b.Run("first", func(b *testing.B) {
		var annotated time.Duration
		for b.Loop() {
			begin := time.Now()
			one.start("ovn-master")
			one.awaitAnnotations(b)
			annotated = time.Since(begin)
			one.awaitSouthbound(b, true)
		}
		b.ReportMetric(annotated.Seconds(), "annotated-s")
		one.reportMaster(b)
	})
	for _, row := range []struct {
		name string
		do   func()
	}{
		{"restarted", func() { one.stop("ovn-master"); one.start("ovn-master") }},
		{"northbound-lost", func() { one.killProcess(one.server("ovnnb"), "nb-ovsdb", one.database("ovnnb")) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			var written time.Duration
			for b.Loop() {
				begin := time.Now()
				row.do()
				one.awaitSouthbound(b, false)
				one.awaitRows(b)
				written = time.Since(begin)
				one.awaitSouthbound(b, true)
			}
			b.ReportMetric(written.Seconds(), "rows-s")
			one.reportMaster(b)
		})
	}
	b.Run("idle", one.idleMaster)
}

// populate creates the objects of a large cluster.
func (c *cluster) populate() {
	c.t.Helper()
	var namespaces, others []client.Object
	for n := range largeNamespaces {
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ns%d", n), Labels: map[string]string{"team": fmt.Sprint(n % 10)}}})
	}
	for n := range largeNodes {
		others = append(others, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large%d", n)}})
	}
	for n := range largePods {
		others = append(others, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("ns%d", n%largeNamespaces), Name: fmt.Sprintf("pod%d", n), Labels: map[string]string{"app": fmt.Sprintf("app%d", n/largeNamespaces%10)}},
			Spec:       corev1.PodSpec{NodeName: fmt.Sprintf("large%d", n%largeNodes), Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
		})
	}
	for n := range largeServices {
		meta := metav1.ObjectMeta{Namespace: fmt.Sprintf("ns%d", n%largeNamespaces), Name: fmt.Sprintf("service%d", n)}
		others = append(others, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: *meta.DeepCopy(), AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
		}
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: meta.Name}
		for e := range 10 {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{netip.AddrFrom4([4]byte{10, 128, byte(2 + n%250), byte(3 + e)}).String()}})
		}
		others = append(others, slice)
	}
	for n := range largePolicies {
		peer := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app%d", n%10)}}}
		if n%10 == 0 { // of other namespaces
			peer = networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprint(n % 7)}}}
		}
		others = append(others, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("ns%d", n%largeNamespaces), Name: fmt.Sprintf("policy%d", n)},
			Spec:       networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{peer}, Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP)}}}}},
		})
	}
	c.createAll(namespaces)
	c.createAll(others)
}

// createAll creates objects, several at a time.
func (c *cluster) createAll(objects []client.Object) {
	c.t.Helper()
	queue := make(chan client.Object)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for object := range queue {
				if err := c.api.Client.Create(c.t.Context(), object); err != nil {
					c.t.Error(err)
				}
			}
		})
	}
	for _, object := range objects {
		queue <- object
	}
	close(queue)
	all.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// awaitAnnotations waits until all pods have addresses.
func (m *machine) awaitAnnotations(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(largeLimit); ; time.Sleep(time.Second) { // a list of all pods costs the server time
		var pods corev1.PodList
		if err := m.api.Client.List(b.Context(), &pods); err != nil {
			b.Fatal(err)
		}
		with := 0
		for _, p := range pods.Items {
			if p.Annotations[topology.PodNetworks] != "" {
				with++
			}
		}
		if with == largePods {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d of %d pods have addresses", with, largePods)
		}
	}
}

// awaitRows waits until the master has the lease, and the northbound database all rows.
func (m *machine) awaitRows(b *testing.B) {
	b.Helper()
	eventually.HoldsWithin(b, largeLimit, "the northbound database has all rows", func() (string, bool) {
		metrics, err := m.at.Try("curl", "-s", "--fail-with-body", "http://127.0.0.1:19106/metrics")
		if err != nil || !strings.Contains(metrics, "\novnkube_master_leader 1\n") {
			return metrics, false
		}
		out, err := m.at.Try("curl", "-s", "--fail-with-body", "http://127.0.0.1:19106/readyz")
		return out, err == nil
	})
}

// awaitSouthbound waits until the southbound database is open to nodes, which it is when ovn-northd has written everything, or closed.
func (m *machine) awaitSouthbound(b *testing.B, open bool) {
	b.Helper()
	eventually.HoldsWithin(b, largeLimit, fmt.Sprintf("the southbound database is open: %t", open), func() (string, bool) {
		out := m.at.Run("ss", "--no-header", "--listening", "--tcp", "--numeric", "sport", "=", ":6642")
		return out, (out != "") == open
	})
}

// reportMaster reports what the process of the master has needed.
func (m *machine) reportMaster(b *testing.B) {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.processes["ovn-master"].PID()))
	if err != nil {
		b.Fatal(err)
	}
	for field, unit := range map[string]string{"VmRSS": "rss-MB", "VmHWM": "peak-MB"} {
		match := regexp.MustCompile(field + `:\s+(\d+) kB`).FindSubmatch(status)
		if match == nil {
			b.Fatalf("no %s in %s", field, status)
		}
		kilobytes, _ := strconv.Atoi(string(match[1])) // it is digits
		b.ReportMetric(float64(kilobytes)*1024/1e6, unit)
	}
	b.ReportMetric(m.cpuOfMaster(b), "cpu-s")
}

// cpuOfMaster returns the seconds for which the process of the master has computed.
func (m *machine) cpuOfMaster(b *testing.B) float64 {
	b.Helper()
	for line := range strings.Lines(m.at.Run("curl", "-s", "--fail-with-body", "http://127.0.0.1:19106/metrics")) {
		if value, found := strings.CutPrefix(line, "process_cpu_seconds_total "); found {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.Fatal(err)
			}
			return seconds
		}
	}
	b.Fatal("the master reports no CPU time")
	return 0
}

// idleMaster measures a minute in which nothing changes, after ovn-northd has written what follows from earlier changes.
func (m *machine) idleMaster(b *testing.B) {
	sizes := func() (all [2]int64) {
		for i, name := range []string{"ovnnb", "ovnsb"} {
			info, err := os.Stat(m.database(name))
			if err != nil {
				b.Fatal(err)
			}
			all[i] = info.Size()
		}
		return all
	}
	last, since := sizes(), time.Now()
	eventually.HoldsWithin(b, largeLimit, "ovn-northd has written everything", func() (string, bool) {
		if now := sizes(); now != last {
			last, since = now, time.Now()
		}
		return fmt.Sprint(last), time.Since(since) > 30*time.Second
	})
	for b.Loop() {
		before, cpu := sizes(), m.cpuOfMaster(b)
		time.Sleep(time.Minute)
		after := sizes()
		b.ReportMetric(1000*(m.cpuOfMaster(b)-cpu), "cpu-ms/min")
		b.ReportMetric(float64(after[0]-before[0]), "northbound-B/min")
		b.ReportMetric(float64(after[1]-before[1]), "southbound-B/min")
		if after[0] != before[0] {
			log := netns.Run(b, "ovsdb-tool", "-m", "show-log", m.database("ovnnb"))
			b.Logf("the last of what was written to the northbound database:\n%s", log[max(0, len(log)-1000):])
		}
	}
	m.reportMaster(b)
}
