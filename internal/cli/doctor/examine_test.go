package doctor

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// examinerFunc is an Examiner.
type examinerFunc func(context.Context, provider.TraceAccess) provider.Examination

func (f examinerFunc) Examine(ctx context.Context, at provider.TraceAccess) provider.Examination {
	return f(ctx, at)
}

// TestFindingsOfTheNetworkAreReported examines the network of Network/cluster, and nothing if there is none or it is no Examiner.
func TestFindingsOfTheNetworkAreReported(t *testing.T) {
	found := provider.Examination{
		Symptoms: []provider.Symptom{{What: "stale: port a", Cause: "no pod", WayOut: "remove it"}, {Severe: true, What: "missing: port b", Cause: "token: hunter2", WayOut: "add it"}},
		Missing:  []string{"node c: no answer"},
	}
	for _, tc := range []struct {
		why     string
		objects []map[string]any
		asks    bool
	}{
		{"no Network/cluster", nil, false},
		{"a network that does not compare", []map[string]any{network("Flannel")}, false},
		{"a network that does", []map[string]any{network("OVNKubernetes")}, true},
		{"an omitted type, which is that of the applied configuration", []map[string]any{network("")}, true},
	} {
		record := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "ons", "name": applied.ConfigMapName},
			"data": map[string]any{applied.KeyState: string(applied.StateApplied), applied.KeyApplied: `{"defaultNetwork":{"type":"OVNKubernetes"}}`}}}
		c := &collector{namespace: "ons", api: dynamicfake.NewSimpleDynamicClient(clientgoscheme.Scheme, record), examiner: func(kind operatorv1.NetworkType) provider.Examiner {
			if kind != operatorv1.NetworkTypeOVNKubernetes {
				return nil
			}
			return examinerFunc(func(context.Context, provider.TraceAccess) provider.Examination { return found })
		}}
		f := &collected{objects: map[string][]map[string]any{section{resource: networkObjects}.name(): tc.objects}}
		c.examine(t.Context(), f)
		var got []string
		for _, s := range symptomFindings(f.symptoms) {
			got = append(got, strings.Join([]string{string(s.Severity), s.What, s.WayOut}, "|"))
			if strings.Contains(s.Cause, "hunter2") {
				t.Errorf("%s: a secret is in %q", tc.why, s.Cause)
			}
		}
		var want, missing []string
		if tc.asks {
			want, missing = []string{"warning|stale: port a|remove it", "critical|missing: port b|add it"}, []string{"comparison of the network: node c: no answer"}
		}
		if !slices.Equal(got, want) || !slices.Equal(f.missing, missing) {
			t.Errorf("%s: %q, missing %q", tc.why, got, f.missing)
		}
	}
}

func network(kind string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"defaultNetwork": map[string]any{"type": kind}}}
}

// TestOnlyReadsAndExecsAreSent has every other request that could change something refused.
func TestOnlyReadsAndExecsAreSent(t *testing.T) {
	for _, tc := range []struct {
		why, method, path string
		sent              bool
	}{
		{"a read", http.MethodGet, "/api/v1/pods", true},
		{"a command in a pod, where the server has no WebSockets", http.MethodPost, "/api/v1/namespaces/a/pods/b/exec", true},
		{"a dry run", http.MethodPatch, "/api/v1/namespaces/a/configmaps/b?dryRun=All", true},
		{"an object with the name of the command", http.MethodPost, "/apis/apps/v1/namespaces/a/deployments/exec", false},
		{"a new pod", http.MethodPost, "/api/v1/namespaces/a/pods", false},
		{"a binding of a pod", http.MethodPost, "/api/v1/namespaces/a/pods/b/binding", false},
		{"an object of another kind", http.MethodPost, "/api/v1/namespaces/exec", false},
		{"a write", http.MethodPatch, "/api/v1/namespaces/a/configmaps/b", false},
		{"a Secret", http.MethodGet, "/api/v1/namespaces/a/secrets/b", false},
	} {
		sent := false
		next := roundTripper(func(*http.Request) (*http.Response, error) { sent = true; return nil, http.ErrNotSupported })
		r, err := http.NewRequestWithContext(t.Context(), tc.method, "http://server"+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := readOnly(next).RoundTrip(r)
		if response != nil || err == nil || sent != tc.sent {
			t.Errorf("%s: sent %v, %v", tc.why, sent, err)
		}
	}
}
