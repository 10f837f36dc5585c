package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	u := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDifferences(t *testing.T) {
	const pod, policy, service, other = "apiVersion: apps/v1\nkind: DaemonSet\n", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n",
		"apiVersion: v1\nkind: Service\n", "apiVersion: example.com/v1\nkind: Foo\n"
	for _, tc := range []struct {
		why, head, want, live string
		differences           []string
	}{
		{"defaults do not count", pod, "spec: {a: {b: 1}}", "spec: {a: {b: 1, c: 2}, d: 3}", nil},
		{"status, apiVersion and server metadata do not count", pod, "metadata: {name: x}", "metadata: {name: x, uid: u, labels: {a: b}}\nstatus: {a: 1}", nil},
		{"one is one in any Go type", pod, "spec: {a: 1}", "spec: {a: 1.0}", nil},
		{"a number is not its digits: the API server distinguishes them", pod, "spec: {a: 80}", `spec: {a: "80"}`, []string{"spec.a: 80 -> 80"}},
		{"quantities have many spellings", pod, "spec: {resources: {limits: {cpu: 1000m, memory: 1Gi}}, sizeLimit: 1024Ki}",
			"spec: {resources: {limits: {cpu: \"1\", memory: 1024Mi}}, sizeLimit: 1Mi}", nil},
		{"but not everything is a quantity", pod, "spec: {name: 1000m}", `spec: {name: "1"}`, []string{"spec.name: 1 -> 1000m"}},
		{"a quantity that differs", pod, "spec: {limits: {cpu: 2}}", `spec: {limits: {cpu: "1"}}`, []string{"spec.limits.cpu: 1 -> 2"}},
		{"containers have names, in any order", pod, "containers: [{name: a, image: x}]", "containers: [{name: b}, {name: a, image: z}]",
			[]string{"containers[a].image: z -> x"}},
		{"the ports of a service are distinguished by protocol too, TCP being the default", service, "spec: {ports: [{port: 53, protocol: UDP, targetPort: 1}, {port: 53, targetPort: 2}]}",
			"spec: {ports: [{port: 53, protocol: TCP, targetPort: 2}, {port: 53, protocol: UDP, targetPort: 3}]}", []string{"spec.ports[53].targetPort: 3 -> 1"}},
		{"an argument more is another command", pod, "args: [a]", "args: [a, b]", []string{"args: [a b] -> [a]"}},
		{"a rule that is one value may have defaults", policy, "spec: {ingress: [{ports: [{port: 1}]}]}", "spec: {ingress: [{ports: [{port: 1, protocol: TCP}]}]}", nil},
		{"but nothing else", policy, "spec: {ingress: [{ports: [{port: 1}]}]}", "spec: {ingress: [{ports: [{port: 1, protocol: UDP}]}]}",
			[]string{"spec.ingress[0].ports[0].protocol: not wanted"}},
		{"the empty selector is not any selector", policy, "spec: {podSelector: {}}", "spec: {podSelector: {matchLabels: {a: b}}}", []string{"spec.podSelector.matchLabels: not wanted"}},
		{"an empty map counts: it is the kind of a volume", pod, "volumes: [{name: a, emptyDir: {}}]", "volumes: [{name: a}]", []string{"volumes[a].emptyDir: missing"}},
		{"an empty list is ignored", pod, "rules: []", "", nil},
		{"a list that is to be empty and is not", pod, "args: []", "args: [a]", []string{"args: [a] -> [0 entries]"}},
		{"false is not the same as nothing", pod, "spec: {a: false}", "spec: {}", []string{"spec.a: missing"}},
		{"finalizers are a set", other, "metadata: {finalizers: [a]}", "metadata: {finalizers: [b, a]}", nil},
		{"a finalizer that is missing", other, "metadata: {finalizers: [a]}", "metadata: {finalizers: [b]}", []string{"metadata.finalizers[a]: missing"}},
		{"nothing is known of the lists of other kinds, but that their entries may have defaults", other, "spec: {ports: [{port: 1}]}", "spec: {ports: [{port: 1, more: 2}]}", nil},
		{"another type", other, "spec: {a: {b: c}, d: [e]}", "spec: {a: b, d: {}}", []string{"spec.a: b -> {...}", "spec.d: {...} -> [e]"}},
		{"a null in free-form data", other, "spec: {list: [null]}", "spec: {list: [null]}", nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			want, live := &unstructured.Unstructured{Object: tree(t, tc.head+tc.want)}, &unstructured.Unstructured{Object: tree(t, tc.head+tc.live)}
			if diff := cmp.Diff(tc.differences, Differences(want, live)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestDifferencesFitInALine(t *testing.T) {
	want := tree(t, "apiVersion: v1\nkind: ConfigMap\n")
	data := map[string]any{"text": strings.Repeat("ä", 100) + "\n"}
	for _, k := range strings.Split("abcdefghij", "") {
		data[k] = k
	}
	want["data"] = data
	live := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"text": "x\n"}}}
	got := Differences(&unstructured.Unstructured{Object: want}, live)
	if len(got) != 9 || got[8] != "and 3 more" {
		t.Errorf("got %q", got)
	}
	for _, reason := range got {
		if len([]rune(reason)) > 150 || strings.Contains(reason, "\n") {
			t.Errorf("got %q", reason)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	want := &unstructured.Unstructured{Object: tree(t, "apiVersion: v1\nkind: Secret\ndata: {key: c2VjcmV0}")}
	live := &unstructured.Unstructured{Object: tree(t, "apiVersion: v1\nkind: Secret\ndata: {key: b2xk}\nimmutable: true")}
	for _, got := range [][]string{Differences(want, live), immutable(want, live)} {
		if !strings.Contains(strings.Join(got, ""), "data.key: differs") || strings.Contains(strings.Join(got, ""), "c2V") {
			t.Errorf("got %q", got)
		}
	}
}

func TestNothingDiffersFromItself(t *testing.T) {
	for _, text := range []string{configMap, daemonSet, namespace, crd, foo} {
		o := parse(t, text).Object
		if got := Differences(o, o.DeepCopy()); got != nil {
			t.Errorf("%s: %q", o.GetKind(), got)
		}
	}
}

func FuzzDifferencesNeverPanics(f *testing.F) {
	f.Add(configMap, daemonSet)
	f.Add("spec: {ports: [1, null, {a: b}], env: [x], limits: 3}", "spec: {ports: {}, env: [null], limits: {cpu: 1}}")
	f.Add("kind: Service\nspec: {clusterIP: [1]}\nmetadata: []", "spec: 1\nmetadata: {labels: 5}")
	f.Fuzz(func(t *testing.T, a, b string) {
		want, live := map[string]any{}, map[string]any{}
		if yaml.Unmarshal([]byte(a), &want) != nil || yaml.Unmarshal([]byte(b), &live) != nil {
			return
		}
		Differences(&unstructured.Unstructured{Object: want}, &unstructured.Unstructured{Object: live})
	})
}
