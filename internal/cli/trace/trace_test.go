package trace

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
	way "github.com/cluster-network-operator/cno/internal/trace"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// call runs the command, and returns what it prints and its exit status.
func call(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	cmd := New(networks.Registry())
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", apitest.Shared(t).Kubeconfig))
	err := cmd.ExecuteContext(t.Context())
	status := exit.Report(&out, "cno", err)
	return out.String(), status
}

// TestExitStatus: what the command prints and returns on a cluster whose network has no pods.
func TestExitStatus(t *testing.T) {
	server := apitest.Shared(t)
	if err := operatorv1.AddToScheme(clientgoscheme.Scheme); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(server.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if out, status := call(t, "default/client", "198.51.100.7:80"); status != exit.Refused || !strings.Contains(out, "the cluster has no Network/cluster") {
		t.Errorf("without a network: %d %s", status, out)
	}
	network := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	network.Spec.ClusterNetwork = []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}}
	network.Spec.ServiceNetwork = []string{"172.30.0.0/16"}
	network.Spec.DefaultNetwork.Type = operatorv1.NetworkTypeOVNKubernetes
	create := func(o client.Object) {
		t.Helper()
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	create(network)
	create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}})
	create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "closed"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}})
	for name, address := range map[string]string{"client": "10.128.0.5", "db": "10.128.0.6", "web": "10.128.0.7"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{NodeName: "worker-0", Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}}}
		create(p)
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
		if err := api.Status().Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		why    string
		args   []string
		status int
		want   string
	}{
		{"it passes", []string{"default/client", "default/web:80", "--objects-only"}, exit.OK, "Result: the packet and its reply pass."},
		{"a policy stops it", []string{"default/client", "default/db", "--port", "80", "--objects-only"}, exit.Refused, "no ingress rule of NetworkPolicy default/closed allows it"},
		{"the network cannot be asked", []string{"default/client", "default/web:80"}, exit.OK, "the state of the network could not be read completely: find the master that leads"},
		{"a pod that does not exist", []string{"default/clinet", "default/web:80"}, exit.Refused, "did you mean default/client?"},
		{"no port", []string{"default/client", "default/web"}, exit.Unusable, "which port of TCP?"},
		{"no such protocol", []string{"default/client", "default/web:80", "--protocol", "icmp"}, exit.Unusable, `protocol "ICMP" is not TCP, UDP or SCTP`},
	} {
		if out, status := call(t, row.args...); status != row.status || !strings.Contains(out, row.want) {
			t.Errorf("%s: exit status %d, want %d: %s", row.why, status, row.status, out)
		}
	}
	out, _ := call(t, "default/client", "default/db:80", "--objects-only", "-o", "json")
	var answer way.Answer
	if err := json.Unmarshal([]byte(out[:strings.LastIndex(out, "}")+1]), &answer); err != nil || answer.Passes || answer.Network != "OVNKubernetes" || len(answer.Request) < 3 {
		t.Errorf("as JSON: %v %s", err, out)
	}
}
