package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

const macvlan = `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","capabilities":{"ips":true}}`

// fixture is a daemon with an API server that is a fake.
type fixture struct {
	*daemon
	kube   *fake.Clientset
	dyn    *dynamicfake.FakeDynamicClient
	events *clientevents.FakeRecorder
}

func newFixture(t *testing.T, pods []*corev1.Pod, definitions ...*unstructured.Unstructured) *fixture {
	t.Helper()
	f := &fixture{kube: fake.NewClientset(), events: clientevents.NewFakeRecorder(20)}
	f.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resourceDefinitions: "NetworkAttachmentDefinitionList"})
	for _, d := range definitions {
		if err := f.dyn.Tracker().Create(resourceDefinitions, d, d.GetNamespace()); err != nil {
			t.Fatal(err)
		}
	}
	config := agentconfig.Default()
	config.ConfDir, config.ReservedBridges = t.TempDir(), []string{"cni0"}
	f.daemon = &daemon{
		Options: Options{
			Process: agent.Process{Node: "n1", Log: slog.New(slog.DiscardHandler)}, Config: config, Client: f.kube, Definitions: f.dyn,
			Interfaces: func() (Interfaces, error) {
				return Interfaces{All: []string{"eth0", "eth1"}, Uplinks: []string{"eth0"}}, nil
			},
			Devices: func(context.Context, wire.Pod) (map[string][]string, error) {
				return map[string][]string{"example.com/nic": {"0000:00:01.0"}}, nil
			},
		},
		objects: &objects{client: f.kube, dynamic: f.dyn, node: "n1", pods: cache.NewStore(cache.MetaNamespaceKeyFunc), defs: cache.NewStore(cache.MetaNamespaceKeyFunc)},
	}
	f.daemon.events = &events{f.events}
	for _, p := range pods {
		if err := f.objects.pods.Add(p); err != nil {
			t.Fatal(err)
		}
		if err := f.kube.Tracker().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func definitionOf(namespace, name, config string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": config}}}
	u.SetAPIVersion("k8s.cni.cncf.io/v1")
	u.SetKind("NetworkAttachmentDefinition")
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func pod(namespace, name, uid string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), Annotations: annotations}}
}

func (f *fixture) event() string {
	select {
	case e := <-f.events.Events:
		return e
	default:
		return ""
	}
}

func TestPlan(t *testing.T) {
	device := definitionOf("ns", "device", `{"type":"sriov"}`)
	device.SetAnnotations(map[string]string{annotationResource: "example.com/nic"})
	nic := definitionOf("openshift-multus", "nic", `{"type":"sriov"}`)
	nic.SetAnnotations(device.GetAnnotations())
	f := newFixture(t, nil, definitionOf("ns", "a", macvlan), definitionOf("default", "shared", macvlan), definitionOf("other", "x", macvlan), device,
		definitionOf("ns", "broken", `{"type":"host-device","device":"eth0"}`), definitionOf("ns", "file", ""), definitionOf("ns", "nolink", `{"type":"macvlan","master":"eth7"}`), definitionOf("openshift-multus", "mine", `{"name":"mine","type":"bridge","bridge":"b","capabilities":{"ips":true}}`), nic)
	if err := os.WriteFile(filepath.Join(f.Config.ConfDir, "10-x.conf"), []byte(`{"cniVersion":"1.0.0","name":"file","type":"tap"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why         string
		annotations map[string]string
		// networks are those of the plan with their interfaces; failure is a part of the error, event one of the event's text.
		networks, failure, event string
		code                     int
	}{
		{why: "two of the pod's namespace, one shared", annotations: networks("a,default/shared@data,a"), networks: "ns/a net1, default/shared data, ns/a net3"},
		{why: "none", annotations: networks("  "), networks: ""},
		{why: "of a file", annotations: networks("file"), networks: "ns/file net1"},
		{why: "a device", annotations: networks("device"), networks: "ns/device net1 0000:00:01.0"},
		{why: "more devices than kubelet gave", annotations: networks("device,device"), failure: "no further one", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "several networks without a device", annotations: networks("device,device,device"), failure: "has no further one; request it in the pod's resources; network ns/device uses a device", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "another default network", annotations: fallback("mine"), networks: "default: openshift-multus/mine"},
		{why: "... with addresses", annotations: fallback(`[{"name":"mine","ips":["192.0.2.9/24"]}]`), networks: "default: openshift-multus/mine map[ips:[192.0.2.9/24]]"},
		{why: "... with a capability that no plugin declares", annotations: fallback(`[{"name":"mine","mac":"02:00:00:00:00:01"}]`), failure: `"mac": true`, event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "... with a key that has no effect", annotations: fallback("mine@data"), failure: "default-network][0].interface", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "... with a device", annotations: fallback("nic"), networks: "default: openshift-multus/nic 0000:00:01.0"},
		{why: "... which takes the only device", annotations: map[string]string{wire.AnnotationDefault: "nic", wire.AnnotationNetworks: "device"}, failure: "network ns/device uses a device", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "another default network of a tenant", annotations: fallback("ns/a"), failure: "only taken from namespace openshift-multus", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "of another namespace", annotations: networks("other/x"), failure: "spec.multiNetwork.namespaceIsolation", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "that does not exist", annotations: networks("a,missing"), failure: "no NetworkAttachmentDefinition missing in namespace ns", event: "NoNetworkFound", code: cniproto.CodeInvalidConfig},
		{why: "that would harm the node", annotations: networks("broken"), failure: "would lose it", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "on an interface that the node lacks", annotations: networks("nolink"), failure: "the node n1 has no interface eth7", event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
		{why: "everything wrong at once", annotations: networks(`[{"name":"a","mac":"x"},{"name":"B","foo":1}]`), failure: `"foo": is not a key`, event: "[0].mac", code: cniproto.CodeInvalidConfig},
		{why: "a capability that no plugin declares", annotations: networks(`[{"name":"a","mac":"02:00:00:00:00:01"}]`), failure: `"mac": true`, event: "InvalidNetworks", code: cniproto.CodeInvalidConfig},
	} {
		t.Run(row.why, func(t *testing.T) {
			plan, err := f.plan(t.Context(), wire.PlanRequest{Pod: wire.Pod{Namespace: "ns", Name: "p", UID: "u"}, Annotations: row.annotations, Default: "pods"})
			event := f.event()
			if row.failure == "" {
				if err != nil || event != "" {
					t.Fatalf("%v, event %q", err, event)
				}
				if diff := cmp.Diff(row.networks, described(plan)); diff != "" {
					t.Error(diff)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.failure) || cniproto.AsError(err).Code != row.code || !strings.Contains(event, row.event) {
				t.Errorf("%v\nevent: %s", err, event)
			}
		})
	}
}

// samePrefix returns two namespaces with the same prefix of bridges.
func samePrefix() (first, second string) {
	seen := map[string]string{}
	for i := 0; ; i++ {
		name := fmt.Sprint("tenant-", i)
		prefix := definition.BridgePrefix(name)
		if other, ok := seen[prefix]; ok {
			return other, name
		}
		seen[prefix] = name
	}
}

func TestABridgePrefixBelongsToTheNamespaceThatUsedItFirst(t *testing.T) {
	first, second := samePrefix()
	created := time.Unix(1700000000, 0)
	bridge := func(namespace, name string, age time.Duration) *unstructured.Unstructured {
		d := definitionOf(namespace, name, `{"type":"bridge","bridge":"`+definition.BridgePrefix(namespace)+`x"}`)
		d.SetCreationTimestamp(metav1.NewTime(created.Add(-age)))
		return d
	}
	for _, row := range []struct {
		why         string
		definitions []*unstructured.Unstructured
		// refused is the namespace whose pods cannot have the bridge; empty for none.
		refused string
	}{
		{"the younger one is refused", []*unstructured.Unstructured{bridge(first, "a", time.Hour), bridge(second, "a", time.Minute)}, second},
		{"of definitions of the same second, that of the name that is later in the alphabet", []*unstructured.Unstructured{bridge(first, "a", 0), bridge(second, "a", 0)}, max(first, second)},
		{"a namespace keeps its prefix with its oldest definition", []*unstructured.Unstructured{bridge(first, "a", 0), bridge(first, "b", time.Hour), bridge(second, "a", time.Minute)}, second},
		{"a single namespace", []*unstructured.Unstructured{bridge(second, "a", 0), bridge("other", "a", time.Hour)}, ""},
	} {
		f := newFixture(t, nil, row.definitions...)
		f.Config.Attachments = agentconfig.Restricted
		for _, d := range row.definitions {
			if err := f.objects.defs.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range row.definitions {
			_, err := f.plan(t.Context(), wire.PlanRequest{Pod: wire.Pod{Namespace: d.GetNamespace(), Name: "p"}, Annotations: networks(d.GetName()), Default: "pods"})
			if refused := err != nil; refused != (d.GetNamespace() == row.refused) || refused && !strings.Contains(err.Error(), "which has older definitions") {
				t.Errorf("%s: %s/%s: %v", row.why, d.GetNamespace(), d.GetName(), err)
			}
		}
	}
}

func networks(text string) map[string]string {
	return map[string]string{wire.AnnotationNetworks: text}
}

func fallback(text string) map[string]string {
	return map[string]string{wire.AnnotationDefault: text}
}

func described(p wire.Plan) string {
	var parts []string
	if p.Default != nil {
		part := "default: " + p.Default.Network + " " + p.Default.DeviceID
		if len(p.Default.Runtime) > 0 {
			part += fmt.Sprint(p.Default.Runtime)
		}
		parts = append(parts, strings.TrimSpace(part))
	}
	for _, a := range p.Attachments {
		parts = append(parts, strings.TrimSpace(a.Network+" "+a.Interface+" "+a.DeviceID))
	}
	return strings.Join(parts, ", ")
}

// A runtime that passes no annotations has the daemon read the pod; it must be the very one.
func TestPodIsThatOfTheSandbox(t *testing.T) {
	f := newFixture(t, []*corev1.Pod{
		pod("ns", "p", "u1", networks("a")), pod("ns", "static", "mirror", map[string]string{wire.AnnotationNetworks: "a", annotationStatic: "hash"}),
	}, definitionOf("ns", "a", macvlan))
	for _, row := range []struct {
		why, name, uid string
		ok             bool
	}{
		{"the pod", "p", "u1", true}, {"a predecessor of its name", "p", "u0", false}, {"a missing pod", "q", "u1", false}, {"a static pod", "static", "hash", true},
	} {
		plan, err := f.plan(t.Context(), wire.PlanRequest{Pod: wire.Pod{Namespace: "ns", Name: row.name, UID: row.uid}})
		if row.ok != (err == nil && len(plan.Attachments) == 1) {
			t.Errorf("%s: %v %v", row.why, plan, err)
		}
		if err != nil && (cniproto.AsError(err).Code != cniproto.CodeTryAgain || f.event() != "") {
			t.Errorf("%s: not tried again: %v", row.why, err)
		}
	}
}

func TestCachedDefinitionIsUsedWithoutAPIServer(t *testing.T) {
	f := newFixture(t, nil)
	f.dyn.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	ask := func() error {
		_, err := f.plan(t.Context(), wire.PlanRequest{Pod: wire.Pod{Namespace: "ns", Name: "p"}, Annotations: networks("a")})
		return err
	}
	if err := ask(); err == nil || cniproto.AsError(err).Code != cniproto.CodeTryAgain {
		t.Errorf("a definition that is not known: %v", err)
	}
	if err := f.objects.defs.Add(definitionOf("ns", "a", macvlan)); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("a definition that the watch has: %v", err)
	}
}

func reported() wire.Report {
	result := json.RawMessage(`{"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":"/n"}],"ips":[{"interface":0,"address":"192.0.2.5/24"}]}`)
	return wire.Report{Pod: wire.Pod{Namespace: "ns", Name: "p", UID: "u1"}, Networks: []wire.Network{{Name: "ns/a", Interface: "net1", Result: result}}}
}

func TestReportsBecomeStatusAndEvents(t *testing.T) {
	f := newFixture(t, []*corev1.Pod{pod("ns", "p", "u1", nil)})
	if err := f.report(t.Context(), reported()); err != nil {
		t.Fatal(err)
	}
	got, err := f.kube.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || !strings.Contains(got.Annotations[wire.AnnotationStatus], `"192.0.2.5"`) {
		t.Errorf("%v %v", got, err)
	}
	if e := f.event(); e != "Normal AddedInterface Add net1 [192.0.2.5/24] from ns/a" {
		t.Errorf("event %q", e)
	}
	if err := f.report(t.Context(), wire.Report{Pod: wire.Pod{Namespace: "ns", Name: "p"}, Failure: "network ns/a: no address left"}); err != nil {
		t.Fatal(err)
	}
	if e := f.event(); e != "Warning FailedAttachNetworks network ns/a: no address left" {
		t.Errorf("event %q", e)
	}
}

func TestAStatusThatCannotBeWritten(t *testing.T) {
	for _, row := range []struct {
		why  string
		pods []*corev1.Pod
		err  error
		ok   bool
	}{
		{"the pod is deleted", nil, nil, true},
		{"another pod has its name", []*corev1.Pod{pod("ns", "p", "u2", nil)}, nil, true},
		{"the API server is unavailable: it is written later", []*corev1.Pod{pod("ns", "p", "u1", nil)}, errors.New("connection refused"), true},
		{"it is refused", []*corev1.Pod{pod("ns", "p", "u1", nil)}, forbidden(), false},
	} {
		f := newFixture(t, row.pods)
		if row.err != nil {
			f.kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, row.err })
		}
		if err := f.report(t.Context(), reported()); (err == nil) != row.ok {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

func TestMissingStatusesAreWritten(t *testing.T) {
	timeoutError, has, host, ended := pod("ns", "p", "u1", nil), pod("ns", "has", "u2", map[string]string{wire.AnnotationStatus: "[]"}), pod("ns", "host", "u3", nil), pod("ns", "ended", "u4", nil)
	for _, p := range []*corev1.Pod{timeoutError, has, host, ended} {
		p.Status.PodIP, p.Status.Phase = "10.0.0.1", corev1.PodRunning
	}
	host.Spec.HostNetwork, ended.Status.Phase = true, corev1.PodSucceeded
	f := newFixture(t, []*corev1.Pod{timeoutError, has, host, ended})
	f.saved = func() ([]attach.Saved, error) {
		var all []attach.Saved
		for _, p := range []*corev1.Pod{timeoutError, has, host, ended} {
			all = append(all, attach.Saved{Pod: wire.Pod{Namespace: "ns", Name: p.Name, UID: string(p.UID)}, Networks: reported().Networks})
		}
		return append(all, attach.Saved{Pod: wire.Pod{Namespace: "ns", Name: "p", UID: "earlier"}}), nil
	}
	if err := f.writeMissing(t.Context()); err != nil {
		t.Fatal(err)
	}
	patched := 0
	for _, a := range f.kube.Actions() {
		if a.GetVerb() == "patch" {
			patched++
		}
	}
	got, err := f.kube.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil || patched != 1 || !strings.Contains(got.Annotations[wire.AnnotationStatus], "192.0.2.5") {
		t.Errorf("%d patches: %v %v", patched, got.Annotations, err)
	}
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("policy"))
}

func TestConfigurationListsArePreferred(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"10-other.conflist": `{"cniVersion":"1.0.0","name":"a-other","plugins":[{"type":"tap"}]}`,
		"20-list.conflist":  `{"cniVersion":"1.0.0","name":"a","plugins":[{"type":"macvlan"}]}`,
		"00-one.conf":       `{"cniVersion":"1.0.0","name":"a","type":"tap"}`,
		"00-two.conf":       `{"cniVersion":"1.0.0","name":"b","type":"bridge"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a": "macvlan", "b": "bridge"} {
		if got, err := fromFile(dir, name); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	if got, err := fromFile(dir, "c"); err == nil || cniproto.AsError(err).Code != cniproto.CodeInvalidConfig {
		t.Errorf("%s %v", got, err)
	}
}
