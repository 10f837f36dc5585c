package crds_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// The object sets every field of OpenShift's type, with values that OpenShift accepts, so that the
// test fails for each field that the server prunes, refuses or defaults.
func TestServerKeepsEveryFieldOfOpenShift(t *testing.T) {
	content, err := os.ReadFile("testdata/openshift-every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	openshiftNetwork := &osv1.Network{}
	if err := yaml.UnmarshalStrict(content, openshiftNetwork); err != nil {
		t.Fatal(err)
	}
	for _, path := range unset("spec", reflect.ValueOf(openshiftNetwork.Spec)) {
		t.Errorf("testdata/openshift-every-field.yaml does not set %s", path)
	}
	for _, path := range unset("status", reflect.ValueOf(openshiftNetwork.Status)) {
		t.Errorf("testdata/openshift-every-field.yaml does not set %s", path)
	}

	server := apitest.Shared(t)
	sent := object(t, string(content), `{}`)
	server.Create(t, sent.DeepCopy())
	stored := object(t, networkBase, `{}`)
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(sent), stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, sent.Object["spec"]), asJSON(t, stored.Object["spec"])); diff != "" {
		t.Error("spec", diff)
	}

	stored.Object["status"] = sent.Object["status"]
	if err := server.Client.Status().Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, sent.Object["status"]), asJSON(t, stored.Object["status"])); diff != "" {
		t.Error("status", diff)
	}

	ours := &operatorv1.Network{}
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(sent), ours); err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]any{
		"spec":   {sent.Object["spec"], ours.Spec},
		"status": {sent.Object["status"], ours.Status},
	} {
		if diff := cmp.Diff(decoded(t, pair[0]), decoded(t, pair[1])); diff != "" {
			t.Errorf("%s in Go: %s", name, diff)
		}
	}
}

func decoded(t *testing.T, value any) any {
	t.Helper()
	var out any
	if err := json.Unmarshal([]byte(asJSON(t, value)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// unset returns the paths in JSON of the fields below a value that have their zero value.
func unset(path string, value reflect.Value) []string {
	var found []string
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			return unset(path, value.Elem())
		}
	case reflect.Slice, reflect.Map:
		if value.Len() > 0 && value.Kind() == reflect.Slice {
			return unset(path+"[0]", value.Index(0))
		}
	case reflect.Struct:
		if value.Type() != reflect.TypeFor[metav1.Time]() && value.Type() != reflect.TypeFor[runtime.RawExtension]() {
			for i := range value.NumField() {
				name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
				if name != "" {
					name = "." + name
				}
				found = append(found, unset(path+name, value.Field(i))...)
			}
			return found
		}
	default: // a leaf
	}
	if value.IsZero() {
		return []string{path}
	}
	return nil
}

func TestPrinterColumns(t *testing.T) {
	server := apitest.Shared(t)
	network := object(t, networkBase, `{}`)
	server.Create(t, network)
	merge(network.Object, object(t, `
status:
  conditions:
  - {type: FlannelDegraded, status: Unknown, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Available, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Progressing, status: "False", lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Degraded, status: "False", lastTransitionTime: "2026-01-02T03:04:05Z"}`, `{}`).Object)
	if err := server.Client.Status().Update(t.Context(), network); err != nil {
		t.Fatal(err)
	}
	server.Create(t, object(t, networkConfigBase, `{}`))

	got := table(t, server, "/apis/operator.openshift.io/v1/networks")
	want := [][]any{
		{"Name", "Type", "Pods", "Services", "Available", "Progressing", "Degraded", "Age"},
		{"cluster", "Flannel", "10.244.0.0/16", "10.96.0.0/16", "True", "False", "False", got[1][7]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = table(t, server, "/apis/networkoperator.openshift.io/v1/networkconfigs")
	want = [][]any{
		{"Name", "Type", "Pods", "Services", "Synced", "Available", "Progressing", "Degraded", "Age"},
		{"default", "OpenShiftSDN", "10.128.0.0/14", "172.30.0.0/16", nil, nil, nil, nil, got[1][8]},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrinterColumnsOfComponents(t *testing.T) {
	server := apitest.Shared(t)
	component := object(t, `
apiVersion: networkoperator.openshift.io/v1
kind: NetworkComponent
metadata: {name: kubeproxy}`, `{}`)
	server.Create(t, component)
	merge(component.Object, object(t, `
status:
  component: KubeProxy
  version: v1
  conditions:
  - {type: Available, status: "True", reason: AsExpected, message: m, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Progressing, status: "False", reason: AsExpected, message: m, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Degraded, status: "True", reason: CrashLoopBackOff, message: pod a, lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Ready, status: "False", reason: CrashLoopBackOff, message: pod a, lastTransitionTime: "2026-01-02T03:04:05Z"}`, `{}`).Object)
	if err := server.Client.Status().Update(t.Context(), component); err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{"Name", "Available", "Progressing", "Degraded", "Version", "Reason", "Message"},
		{"kubeproxy", "True", "False", "True", "v1", "CrashLoopBackOff", "pod a"},
	}
	if diff := cmp.Diff(want, table(t, server, "/apis/networkoperator.openshift.io/v1/networkcomponents")); diff != "" {
		t.Error(diff)
	}
}

func TestPrinterColumnsOfNodes(t *testing.T) {
	server := apitest.Shared(t)
	node := object(t, `
apiVersion: networkoperator.openshift.io/v1
kind: NetworkNode
metadata: {name: worker-0}`, `{}`)
	server.Create(t, node)
	merge(node.Object, object(t, `
status:
  type: Flannel
  blocks: [10.244.1.0/24, "fd00:0:0:1::/64"]
  mtu: 1500
  agents: [{namespace: openshift-flannel, name: flannel, image: "flannel:v1", ready: false}]
  conditions:
  - {type: Ready, status: "False", reason: AgentNotReady, message: pod a, lastTransitionTime: "2026-01-02T03:04:05Z"}`, `{}`).Object)
	if err := server.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	got := table(t, server, "/apis/networkoperator.openshift.io/v1/networknodes")
	want := [][]any{
		{"Name", "Ready", "Reason", "Type", "Blocks", "MTU", "Age", "Message"},
		{"worker-0", "False", "AgentNotReady", "Flannel", `["10.244.1.0/24","fd00:0:0:1::/64"]`, 1500.0, got[1][6], "pod a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// table returns the header and the rows that kubectl get shows of a list.
func table(t *testing.T, server *apitest.Server, path string) [][]any {
	t.Helper()
	config := rest.CopyConfig(server.Config)
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	content, err := c.Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var answer metav1.Table
	if err := json.Unmarshal(content, &answer); err != nil {
		t.Fatal(err)
	}
	rows := [][]any{nil}
	for _, column := range answer.ColumnDefinitions {
		rows[0] = append(rows[0], column.Name)
	}
	for _, row := range answer.Rows {
		rows = append(rows, row.Cells)
	}
	return rows
}
