package network

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// isolates reports whether the network isolates namespaces by VNIDs.
func isolates(t *testing.T) bool {
	t.Helper()
	return network.NetNamespaces && declared(t).Isolation != ""
}

// cno pod-network connects the pods of two namespaces, and separates them again.
func TestNamespacesAreJoinedAndIsolated(t *testing.T) {
	if !isolates(t) {
		return
	}
	shop, warehouse := lab.Namespace(t), lab.Namespace(t)
	client, err := lab.RunPod(t.Context(), kit.ServerPod(shop, "client", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	server, err := lab.RunPod(t.Context(), kit.ServerPod(warehouse, "server", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	reaches := func(ctx context.Context) error {
		_, err := lab.Get(ctx, client, "http://"+server.Status.PodIP+":8080/hostname")
		return err
	}
	kit.Eventually(t, time.Minute, "namespaces are isolated", denied(reaches))
	// The command returns when both nodes use the VNIDs.
	cno(t, 0, "pod-network", "join-projects", "--to="+shop, warehouse)
	if err := reaches(t.Context()); err != nil {
		t.Errorf("joined namespaces do not connect: %v", err)
	}
	cno(t, 0, "pod-network", "isolate-projects", warehouse)
	if err := denied(reaches)(t.Context()); err != nil {
		t.Errorf("isolated namespaces: %v", err)
	}
}

// server is a pod with a Service of its own.
type server struct {
	*corev1.Pod
	// addresses are the pod's own and that of the Service, each with the port.
	addresses [2]string
}

func runServer(t *testing.T, namespace, name, node string) server {
	t.Helper()
	labels := map[string]string{"app": name}
	pod, err := lab.RunPod(t.Context(), kit.ServerPod(namespace, name, node, labels))
	if err != nil {
		t.Fatal(err)
	}
	service := kit.Service(namespace, name, func(s *corev1.ServiceSpec) { s.Selector = labels })
	if err := lab.Client.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	return server{pod, [2]string{net.JoinHostPort(pod.Status.PodIP, "8080"), net.JoinHostPort(service.Spec.ClusterIP, "80")}}
}

// dropped is the result of a request whose packets are dropped: curl's exit status for a timeout.
const dropped = "curl: 28"

// request sends an HTTP request, and returns the name of the pod that responds, or curl's exit status.
func (s server) request(ctx context.Context, address string) (string, error) {
	return lab.Exec(ctx, s.Pod, "curl -s --max-time 10 http://"+address+"/hostname || echo curl: $?")
}

// Namespaces connect if their VNIDs are equal, or if one is 0: with each of the five relations that two namespaces can have, a pod exchanges packets with one on the
// same node and one on another node, by the address of the pod and by that of a Service, in both directions.
func TestNamespacesConnectByTheirVNIDs(t *testing.T) {
	kit.Full(t)
	if !isolates(t) {
		return
	}
	shop, warehouse := lab.Namespace(t), lab.Namespace(t)
	one := runServer(t, shop, "one", "worker-0")
	same := []server{runServer(t, shop, "near", "worker-0"), runServer(t, shop, "far", "worker-1")}
	other := []server{runServer(t, warehouse, "near", "worker-0"), runServer(t, warehouse, "far", "worker-1")}
	// A Service that a node does not serve yet looks like one that is denied.
	for _, from := range other {
		for _, to := range other {
			kit.Eventually(t, time.Minute, "Service "+to.Name+" responds on "+from.Spec.NodeName, func(ctx context.Context) error {
				_, err := lab.Get(ctx, from.Pod, "http://"+to.addresses[1]+"/hostname")
				return err
			})
		}
	}
	cells := 0
	for _, relation := range []struct {
		why string
		// command is the one of cno pod-network that creates the relation.
		command []string
		others  []server
		connect bool
	}{
		{why: "pods of one namespace", others: same, connect: true},
		{why: "pods of two namespaces", others: other},
		{why: "after join-projects the VNIDs are equal", command: []string{"join-projects", "--to=" + shop, warehouse}, others: other, connect: true},
		{why: "after isolate-projects they differ again", command: []string{"isolate-projects", warehouse}, others: other},
		{why: "after make-projects-global one is 0", command: []string{"make-projects-global", warehouse}, others: other, connect: true},
	} {
		if relation.command != nil {
			// The command returns when both nodes use the VNIDs.
			cno(t, 0, append([]string{"pod-network"}, relation.command...)...)
		}
		var requests sync.WaitGroup
		for _, o := range relation.others {
			for _, ends := range [][2]server{{one, o}, {o, one}} {
				for _, address := range ends[1].addresses {
					cells++
					requests.Go(func() {
						want := dropped
						if relation.connect {
							want = ends[1].Name
						}
						if got, err := ends[0].request(t.Context(), address); err != nil || got != want {
							t.Errorf("%s: from %s on %s to %s on %s at %s: %q, error %v; want %q",
								relation.why, ends[0].Name, ends[0].Spec.NodeName, ends[1].Name, ends[1].Spec.NodeName, address, got, err, want)
						}
					})
				}
			}
		}
		requests.Wait()
	}
	if cells != 40 {
		t.Errorf("the matrix has %d cells", cells)
	}
}
