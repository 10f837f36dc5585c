package network

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestAClusterIPIsServedFromEveryNodeByEveryPod(t *testing.T) {
	s, pods := lab.Expose(t, func(*corev1.ServiceSpec) {})
	for node, from := range pods {
		answered := map[string]bool{}
		kit.Eventually(t, time.Minute, "every pod answers on the cluster address, asked from "+node, func(ctx context.Context) error {
			out, err := lab.Exec(ctx, from, "for i in 1 2 3 4 5 6 7 8; do curl -sS --fail --max-time 3 http://"+net.JoinHostPort(s.Spec.ClusterIP, "80")+"/hostname; echo; done")
			if err != nil {
				return err
			}
			for _, name := range strings.Fields(out) {
				answered[name] = true
			}
			if len(answered) != len(pods) {
				return fmt.Errorf("answered so far: %v", answered)
			}
			return nil
		})
	}
}

func TestANodePortIsServedOnEveryNode(t *testing.T) {
	kit.Full(t)
	s, pods := lab.Expose(t, func(spec *corev1.ServiceSpec) { spec.Type = corev1.ServiceTypeNodePort })
	from := pods["cp-0"]
	for node, pod := range pods {
		url := fmt.Sprintf("http://%s/hostname", net.JoinHostPort(pod.Status.HostIP, strconv.Itoa(int(s.Spec.Ports[0].NodePort))))
		kit.Eventually(t, time.Minute, "the node port answers on "+node, func(ctx context.Context) error {
			_, err := lab.Get(ctx, from, url)
			return err
		})
	}
}

func TestSessionAffinityKeepsAClientWithItsServer(t *testing.T) {
	kit.Full(t)
	s, pods := lab.Expose(t, func(spec *corev1.ServiceSpec) { spec.SessionAffinity = corev1.ServiceAffinityClientIP })
	from := pods["worker-0"]
	kit.Eventually(t, time.Minute, "the service answers", func(ctx context.Context) error {
		_, err := lab.Get(ctx, from, "http://"+net.JoinHostPort(s.Spec.ClusterIP, "80")+"/hostname")
		return err
	})
	out, err := lab.Exec(t.Context(), from, "for i in $(seq 20); do curl -sS --fail --max-time 20 http://"+net.JoinHostPort(s.Spec.ClusterIP, "80")+"/hostname; echo; done")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(out)
	for _, n := range names {
		if n != names[0] {
			t.Fatalf("one client was served by %s and by %s", names[0], n)
		}
	}
	if len(names) != 20 {
		t.Errorf("20 calls got %d answers", len(names))
	}
}

func TestAServiceIsFoundByName(t *testing.T) {
	s, pods := lab.Expose(t, func(*corev1.ServiceSpec) {})
	for node, from := range pods {
		for _, name := range []string{"web", "web." + s.Namespace, "web." + s.Namespace + ".svc.cluster.local"} {
			kit.Eventually(t, time.Minute, "on "+node+" the name "+name+" works", func(ctx context.Context) error {
				_, err := lab.Get(ctx, from, "http://"+name+"/hostname")
				return err
			})
		}
	}
}

func TestAPodReachesItselfThroughItsService(t *testing.T) {
	ns := lab.Namespace(t)
	pod, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "alone", "worker-1", kit.Served()))
	if err != nil {
		t.Fatal(err)
	}
	s := kit.Service(ns, "web", func(*corev1.ServiceSpec) {})
	if err := lab.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the pod reaches itself", func(ctx context.Context) error {
		_, err := lab.Get(ctx, pod, "http://"+net.JoinHostPort(s.Spec.ClusterIP, "80")+"/hostname")
		return err
	})
}
