package podnetwork

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

func TestMain(m *testing.M) {
	sdn, err := crds.OpenShiftSDN()
	if err != nil {
		panic(err)
	}
	apitest.Main(m, apitest.Options{WithoutProjectCRDs: true, CRDs: sdn})
}

// call runs the command, and returns what it prints and its exit status.
func call(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	cmd := New()
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", apitest.Shared(t).Kubeconfig))
	err := cmd.ExecuteContext(t.Context())
	status := exit.Report(&out, "cno", err)
	return out.String(), status
}

// serve does the part of the controller, until the test ends: it sets the VNID for each request, and removes it.
func serve(t *testing.T, api client.Client, vnids map[string]uint32) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var all sdnv1.NetNamespaceList
			_ = api.List(ctx, &all)
			for _, n := range all.Items {
				if request := n.Annotations[sdnv1.AnnotationChangeNetwork]; request != "" {
					n.NetID = vnids[request]
					delete(n.Annotations, sdnv1.AnnotationChangeNetwork)
					_ = api.Update(ctx, &n)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
}

func TestNamespacesAreJoinedIsolatedAndOpened(t *testing.T) {
	server := apitest.Shared(t)
	scheme := runtime.NewScheme()
	if err := sdnv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if out, status := call(t, "isolate-projects", "a"); status != exit.Refused || !strings.Contains(out, "not OpenShiftSDN in mode Multitenant") {
		t.Errorf("without the network: %d %s", status, out)
	}
	for i, name := range []string{"a", "b"} {
		if err := api.Create(t.Context(), &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, NetName: name, NetID: uint32(10 + i)}); err != nil {
			t.Fatal(err)
		}
	}
	network := &sdnv1.ClusterNetwork{ObjectMeta: metav1.ObjectMeta{Name: "default"}, ServiceNetwork: "10.96.0.0/16", PluginName: sdnv1.PluginMultitenant,
		ClusterNetworks: []sdnv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostSubnetLength: 9}}}
	if err := api.Create(t.Context(), network); err != nil {
		t.Fatal(err)
	}
	if out, status := call(t, "isolate-projects", "a", "--timeout", "500ms"); status != exit.Refused || !strings.Contains(out, `the controller has not answered the request "isolate"`) {
		t.Errorf("without a controller: %d %s", status, out)
	}
	serve(t, api, map[string]uint32{"join:a": 10, "isolate": 77, "global": 0})
	for _, test := range []struct {
		reason string
		args   []string
		status int
		want   string
	}{
		{"join", []string{"join-projects", "--to=a", "b"}, exit.OK, "namespace b: VNID 10"},
		{"isolate", []string{"isolate-projects", "b"}, exit.OK, "namespace b: VNID 77"},
		{"several", []string{"make-projects-global", "a", "b"}, exit.OK, "namespace a: VNID 0\nnamespace b: VNID 0"},
		{"for programs", []string{"isolate-projects", "b", "-o", "json"}, exit.OK, `"vnid": 77`},
		{"all unknown names at once", []string{"join-projects", "--to=x", "a", "y"}, exit.Refused, "there is no NetNamespace \"y\": write the name of a namespace\nthere is no NetNamespace \"x\""},
		{"itself", []string{"join-projects", "--to=a", "a"}, exit.Refused, "namespace a cannot join itself"},
		{"no target", []string{"join-projects", "a"}, exit.Unusable, "--to is required"},
		{"no namespace", []string{"isolate-projects"}, exit.Unusable, "requires at least 1 arg"},
	} {
		if out, status := call(t, test.args...); status != test.status || !strings.Contains(out, test.want) {
			t.Errorf("%s: %d %s", test.reason, status, out)
		}
	}
}
