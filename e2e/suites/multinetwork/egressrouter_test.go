package multinetwork

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const (
	routerLabel = "network.operator.openshift.io/egress-router"
	// routerIP is the router's address on the link, and server and fallback are those of the host outside that only a gateway reaches.
	routerIP = "10.90.1.99"
	server   = "203.0.113.26"
	fallback = "203.0.113.28"
)

const router = `{"apiVersion":"network.operator.openshift.io/v1","kind":"EgressRouter","metadata":{"name":"billing","namespace":%q},"spec":{
"networkInterface":{"macvlan":{"mode":"Bridge","master":"eth1"}},
"addresses":[{"ip":"` + routerIP + `/24","gateway":"` + outside4 + `"}],
"redirect":{"redirectRules":[
{"port":8080,"protocol":"TCP","destinationIP":"` + server + `","targetPort":80},
{"port":5353,"protocol":"UDP","destinationIP":"` + server + `","targetPort":53},
{"port":9001,"protocol":"TCP","destinationIP":"` + server + `"}]%s}}}`

// outside runs a shell script on the host outside.
func outside(t *testing.T, script string) (string, error) {
	t.Helper()
	out, err := lab.Lab(t.Context(), "exec", "outside1", "--", "sh", "-c", script)
	return strings.TrimSpace(out), err
}

// serveOutside makes the host outside answer HTTP and UDP on both addresses with the address of the client, until the test ends. The other
// address drops the ports that the fallback serves.
func serveOutside(t *testing.T) {
	t.Helper()
	program := filepath.Join(lab.Root, "_output/lab/bin/agnhost")
	script := `ip address replace ` + server + `/32 dev lo; ip address replace ` + fallback + `/32 dev lo
nft add table inet cnotest; nft add chain inet cnotest in '{ type filter hook input priority 0; }'
nft add rule inet cnotest in ip daddr ` + server + ` tcp dport 9000 drop
for flags in "--http-port=80 --udp-port=53 --udp-listen-addresses=` + server + `" "--http-port=9000 --udp-port=9000 --udp-listen-addresses=` + fallback + `" "--http-port=9001 --udp-port=-1"; do
	setsid ` + program + ` netexec $flags >/dev/null 2>&1 </dev/null & echo $! >> /run/cnotest.pids
done`
	if out, err := outside(t, script); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	t.Cleanup(func() {
		script := `kill $(cat /run/cnotest.pids); rm /run/cnotest.pids; nft delete table inet cnotest; ip address del ` + server + `/32 dev lo; ip address del ` + fallback + `/32 dev lo`
		if out, err := lab.Lab(context.Background(), "exec", "outside1", "--", "sh", "-c", script); err != nil {
			t.Errorf("%s: %v", out, err)
		}
	})
}

// seenFrom makes a pod send a request to an address, and returns the source addresses that the host outside sees.
func seenFrom(ctx context.Context, from *corev1.Pod, protocol, host string, port int) (string, error) {
	query := url.Values{"request": {"clientip"}, "protocol": {protocol}, "host": {host}, "port": {fmt.Sprint(port)}, "tries": {"1"}}
	out, err := lab.Get(ctx, from, "http://127.0.0.1:8080/dial?"+query.Encode())
	if err != nil {
		return "", err
	}
	var answer struct{ Responses, Errors []string }
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		return "", err
	}
	if len(answer.Responses) != 1 {
		return "", errors.New(strings.Join(answer.Errors, ", "))
	}
	client, _, _ := strings.Cut(answer.Responses[0], ":")
	return client, nil
}

// comesFromRouter returns nil if the source address of a pod's request is that of the router.
func comesFromRouter(from *corev1.Pod, protocol, host string, port int) func(context.Context) error {
	return func(ctx context.Context) error {
		seen, err := seenFrom(ctx, from, protocol, host, port)
		if err == nil && seen != routerIP {
			err = fmt.Errorf("the source address is %s", seen)
		}
		return err
	}
}

// routerPod returns the router's pod once it runs, and is not an earlier one, which may be nil.
func routerPod(t *testing.T, ns string, earlier *corev1.Pod) *corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	kit.Eventually(t, 4*time.Minute, "the router is available", func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "egressrouters.network.operator.openshift.io", "billing", "-n", ns, "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}`)
		if err == nil && !strings.Contains(out, "Available=True") {
			err = errors.New(out)
		}
		if err := errors.Join(err, lab.Client.List(ctx, pods, client.InNamespace(ns), client.MatchingLabels{routerLabel: "billing"})); err != nil {
			return err
		}
		if len(pods.Items) != 1 {
			return fmt.Errorf("%d pods", len(pods.Items))
		}
		if pod := pods.Items[0]; pod.Status.PodIP == "" || earlier != nil && pod.UID == earlier.UID {
			return fmt.Errorf("pod %s on %q has the address %q", pod.Name, pod.Spec.NodeName, pod.Status.PodIP)
		}
		return nil
	})
	return &pods.Items[0]
}

func applyRouter(t *testing.T, ns, more string) {
	t.Helper()
	if _, err := lab.KubectlInput(t.Context(), fmt.Sprintf(router, ns, more), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// Pods, nodes and Services reach the destinations of the rules through the router, whose address the host outside sees; no other packet is
// forwarded in either direction. When the router's node loses power, the address answers from another node.
func TestAnEgressRouterTranslates(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	serveOutside(t)
	applyRouter(t, ns, `,"fallbackIP":"`+fallback+`"`)
	service := kit.Service(ns, "billing", func(s *corev1.ServiceSpec) {
		s.Selector = map[string]string{routerLabel: "billing"}
		s.Ports = []corev1.ServicePort{{Name: "tcp", Port: 80, TargetPort: intstr.FromInt32(8080)}, {Name: "udp", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromInt32(5353)}}
	})
	if err := lab.Client.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	pod := routerPod(t, ns, nil)
	clients := lab.ServerOnEachNode(t, ns, nil)
	for node, from := range clients {
		for _, row := range []struct {
			what, protocol, host string
			port                 int
		}{
			{"the rule with another port", "http", pod.Status.PodIP, 8080},
			{"the rule for UDP", "udp", pod.Status.PodIP, 5353},
			{"the rule with its own port", "http", pod.Status.PodIP, 9001},
			{"the fallback over TCP", "http", pod.Status.PodIP, 9000},
			{"the fallback over UDP", "udp", pod.Status.PodIP, 9000},
			{"the Service over TCP", "http", service.Spec.ClusterIP, 80},
			{"the Service over UDP", "udp", service.Spec.ClusterIP, 53},
		} {
			kit.Eventually(t, time.Minute, "from "+node+" by "+row.what, comesFromRouter(from, row.protocol, row.host, row.port))
		}
		out, err := lab.Lab(t.Context(), "exec", node, "--", "curl", "-sS", "--fail", "--max-time", "10", "http://"+pod.Status.PodIP+":8080/clientip")
		if err != nil || !strings.HasPrefix(out, routerIP+":") {
			t.Errorf("from the node %s: %s %v", node, out, err)
		}
	}
	nothingElsePasses(t, pod, clients)

	applyRouter(t, ns, "")
	pod = routerPod(t, ns, pod)
	kit.Eventually(t, time.Minute, "without a fallback the rules apply", comesFromRouter(clients["worker-0"], "http", pod.Status.PodIP, 8080))
	if seen, err := seenFrom(t.Context(), clients["worker-0"], "http", pod.Status.PodIP, 9000); err == nil {
		t.Errorf("a port without a rule and a fallback is forwarded, seen from %s", seen)
	}
	survives(t, ns, pod, clients)
}

// nothingElsePasses tries to use the router as a gateway, from its node, from its own pod and from outside.
func nothingElsePasses(t *testing.T, pod *corev1.Pod, clients map[string]*corev1.Pod) {
	t.Helper()
	node := pod.Spec.NodeName
	inPod := `for n in /run/netns/*; do if nsenter --net=$n ip -o address show to ` + routerIP + ` | grep -q .; then exec nsenter --net=$n curl -sS --max-time 3 http://%s/clientip; fi; done; echo no namespace has the address`
	for _, row := range []struct{ what, where, script string }{
		{"its node reaches the gateway through the router", node, `ip route add ` + outside4 + `/32 via ` + pod.Status.PodIP + ` && { ping -c1 -W2 ` + outside4 + `; s=$?; ip route del ` + outside4 + `/32; exit $s; }`},
		{"the router's own pod reaches the gateway", node, fmt.Sprintf(inPod, outside4+":80")},
		{"the router's own pod reaches a port of the destination that no rule names", node, fmt.Sprintf(inPod, server+":9000")},
		{"the host outside reaches a rule's port", "outside1", "curl -sS --max-time 3 http://" + routerIP + ":8080/clientip"},
		{"the host outside reaches a pod", "outside1", `ip route add 10.244.0.0/16 via ` + routerIP + `; ping -c1 -W2 ` + clients[node].Status.PodIP + `; s=$?; ip route del 10.244.0.0/16; exit $s`},
	} {
		out, err := lab.Lab(t.Context(), "exec", row.where, "--", "sh", "-c", row.script)
		if err == nil {
			t.Errorf("%s:\n%s", row.what, out)
		}
	}
}

// survives powers the router's node off, and marks it as out of service, as an administrator does: the address must answer from another
// node, without a delay for neighbours that know it.
func survives(t *testing.T, ns string, pod *corev1.Pod, clients map[string]*corev1.Pod) {
	t.Helper()
	node := pod.Spec.NodeName
	if out, err := lab.Lab(t.Context(), "stop", node); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	const off = "node.kubernetes.io/out-of-service"
	if _, err := lab.Kubectl(t.Context(), "taint", "node", node, off+"=nodeshutdown:NoExecute"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := lab.Kubectl(ctx, "taint", "node", node, off+"-")
		_, started := lab.Lab(ctx, "start", node)
		ready := kit.Poll(ctx, 4*time.Minute, func(ctx context.Context) error { return lab.NodeReady(ctx, node) })
		if err := errors.Join(err, started, ready); err != nil {
			t.Error(err)
		}
	})
	moved := routerPod(t, ns, pod)
	for name, from := range clients {
		if name != node {
			kit.Eventually(t, time.Minute, "from "+name+" after the router moved to "+moved.Spec.NodeName, comesFromRouter(from, "http", moved.Status.PodIP, 8080))
		}
	}
}
