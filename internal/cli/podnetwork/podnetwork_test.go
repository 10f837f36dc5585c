package podnetwork

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/networks"
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
	cmd := New(networks.Registry())
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", apitest.Shared(t).Kubeconfig))
	err := cmd.ExecuteContext(t.Context())
	status := exit.Report(&out, "cno", err)
	return out.String(), status
}

// serve does the part of the controller, until the test ends: it sets the VNID for each request, and removes it. It refuses requests for namespace default, with
// an event.
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
				request := n.Annotations[sdnv1.AnnotationChangeNetwork]
				if request == "" {
					continue
				}
				delete(n.Annotations, sdnv1.AnnotationChangeNetwork)
				if n.Name == metav1.NamespaceDefault {
					_ = api.Update(ctx, &n)
					if err := api.Create(ctx, refused(n, request)); err != nil {
						t.Error(err)
					}
					continue
				}
				n.NetID = vnids[request]
				_ = api.Update(ctx, &n)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
}

// refused is the event of the controller for a refused request.
func refused(n sdnv1.NetNamespace, request string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: n.Name + "-"}, Regarding: corev1.ObjectReference{Kind: "NetNamespace", Name: n.Name},
		EventTime: metav1.NowMicro(), Type: corev1.EventTypeWarning, Reason: sdnv1.ReasonChangeRefused, Action: "Validate", ReportingController: "c", ReportingInstance: "c",
		Note: fmt.Sprintf("request %q: namespace default is global always", request),
	}
}

func TestNamespacesAreJoinedIsolatedAndOpened(t *testing.T) {
	server := apitest.Shared(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(sdnv1.AddToScheme(scheme), eventsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if out, status := call(t, "isolate-projects", "a"); status != exit.Refused || !strings.Contains(out, "not OpenShiftSDN in mode Multitenant") {
		t.Errorf("without the network: %d %s", status, out)
	}
	for name, id := range map[string]uint32{"a": 10, "b": 11, "default": 0} {
		if err := api.Create(t.Context(), &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}, NetName: name, NetID: id}); err != nil {
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
	withdraw := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, sdnv1.AnnotationChangeNetwork))
	if err := api.Patch(t.Context(), &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, withdraw); err != nil {
		t.Fatal(err)
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
		{"refused by the controller", []string{"isolate-projects", "default", "b"}, exit.Refused, "namespace default keeps VNID 0: request \"isolate\": namespace default is global always"},
		{"refused by the controller: the others are changed", []string{"isolate-projects", "default", "b"}, exit.Refused, "namespace b: VNID 77"},
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

// TestGranted: a namespace must have what was requested.
func TestGranted(t *testing.T) {
	for _, row := range []struct {
		why, request string
		vnid         uint32
		want         bool
	}{
		{"global", sdnv1.ChangeGlobal, 0, true},
		{"still isolated", sdnv1.ChangeGlobal, 10, false},
		{"alone in its VNID", sdnv1.ChangeIsolate, 10, true},
		{"still global", sdnv1.ChangeIsolate, 0, false},
		{"a reserved VNID", sdnv1.ChangeIsolate, 9, false},
		{"still joined", sdnv1.ChangeIsolate, 11, false},
		{"joined", sdnv1.ChangeJoin + "b", 11, true},
		{"not joined", sdnv1.ChangeJoin + "b", 10, false},
		{"its target was deleted", sdnv1.ChangeJoin + "c", 10, false},
	} {
		n := sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}, NetID: row.vnid}
		other := sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "b"}, NetID: 11}
		if got := granted([]sdnv1.NetNamespace{n, other}, &n, row.request); got != row.want {
			t.Errorf("%s: %t", row.why, got)
		}
	}
}
