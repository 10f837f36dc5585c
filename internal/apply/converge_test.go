package apply_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

func TestNothingToDoAfterApply(t *testing.T) {
	c := newCluster(t)
	objects := c.rich()
	c.apply(objects)
	c.converged(objects)
	// Another process has no state of the first one, and decoded objects share no memory.
	c.converged(c.rich())
}

// small is a namespace with a workload and what it needs.
const small = `
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config, namespace: NAME}
data: {a: "1", b: "2"}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow, namespace: NAME}
spec: {podSelector: {}, ingress: [{}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: NAME}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {kubernetes.io/os: linux}
      initContainers: [{name: first, image: a}, {name: second, image: a}]
      containers:
      - name: agent
        image: agent:v1
        env: [{name: A, value: "1"}]
        securityContext: {allowPrivilegeEscalation: false}
        livenessProbe: {httpGet: {port: 80, path: /}}
      volumes: [{name: tmp, emptyDir: {}}]
`

func TestDriftIsRepaired(t *testing.T) {
	container := []any{"spec", "template", "spec", "containers", 0}
	for _, tc := range []struct {
		name       string
		kind, obj  string
		change     func(map[string]any)
		wantReason string
		leaves     bool // the edit leaves something behind that is not the operator's
	}{
		{"an edited value", "ConfigMap", "config", func(o map[string]any) { o["data"].(map[string]any)["a"] = "x" }, "data.a: x -> 1", false},
		{"a value that was removed", "ConfigMap", "config", func(o map[string]any) { delete(o["data"].(map[string]any), "b") }, "data.b: missing", false},
		{"another image", "DaemonSet.apps", "agent", func(o map[string]any) { at(o, container...).(map[string]any)["image"] = "evil:v1" },
			"spec.template.spec.containers[agent].image: evil:v1 -> agent:v1", false},
		{"false is not the same as nothing", "DaemonSet.apps", "agent", func(o map[string]any) { delete(at(o, container...).(map[string]any), "securityContext") },
			"spec.template.spec.containers[agent].securityContext: missing", false},
		{"a container that was renamed", "DaemonSet.apps", "agent", func(o map[string]any) { at(o, container...).(map[string]any)["name"] = "other" },
			"spec.template.spec.containers[agent]: missing", true},
		{"the usual way to switch a DaemonSet off", "DaemonSet.apps", "agent", func(o map[string]any) {
			at(o, "spec", "template", "spec", "nodeSelector").(map[string]any)["no-such"] = "node"
		}, "spec.template.spec.nodeSelector.no-such: not wanted", false},
		{"a rule that allows everything, made to allow less", "NetworkPolicy.networking.k8s.io", "allow", func(o map[string]any) {
			at(o, "spec", "ingress", 0).(map[string]any)["ports"] = []any{map[string]any{"port": int64(80)}}
		}, "spec.ingress[0].ports: not wanted", false},
		{"a volume with another source, which does not merge with ours", "DaemonSet.apps", "agent", func(o map[string]any) {
			at(o, "spec", "template", "spec").(map[string]any)["volumes"] = []any{map[string]any{"name": "tmp", "hostPath": map[string]any{"path": "/"}}}
		}, "spec.template.spec.volumes[tmp].emptyDir: missing", false},
		{"a probe of another kind, which does not merge with ours", "DaemonSet.apps", "agent", func(o map[string]any) {
			at(o, container...).(map[string]any)["livenessProbe"] = map[string]any{"exec": map[string]any{"command": []any{"true"}}}
		}, "spec.template.spec.containers[agent].livenessProbe.httpGet: missing", false},
		{"init containers in another order", "DaemonSet.apps", "agent", func(o map[string]any) {
			slices.Reverse(at(o, "spec", "template", "spec", "initContainers").([]any))
		}, "spec.template.spec.initContainers[second]: before them -> after the others", false},
		{"the label that identifies the owner", "ConfigMap", "config", func(o map[string]any) { at(o, "metadata").(map[string]any)["labels"] = nil },
			"metadata.labels: missing", false},
		{"the mark of the last apply", "ConfigMap", "config", func(o map[string]any) { at(o, "metadata").(map[string]any)["annotations"] = nil },
			"a field that was wanted before", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t)
			objects := c.objects(small)
			c.apply(objects)
			before := c.must(tc.kind, tc.obj)
			c.edit(tc.kind, tc.obj, tc.change)
			p := c.apply(objects)
			if got := p.String(); !strings.Contains(got, tc.wantReason) {
				t.Errorf("plan:\n%swant %q in it", got, tc.wantReason)
			}
			if pending := p.Pending(); len(pending) != 1 || pending[0].Adopted {
				t.Errorf("want one change of an object that is the operator's, got\n%s", p)
			}
			c.converged(objects)
			if diff := cmp.Diff(volatile(before), volatile(c.must(tc.kind, tc.obj))); diff != "" && !tc.leaves {
				t.Errorf("-before the edit +after its repair\n%s", diff)
			}
		})
	}
}

// volatile removes what changes with each write, and returns the rest.
func volatile(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetManagedFields(nil)
	o.SetUID("")
	o.SetCreationTimestamp(o.GetCreationTimestamp().Rfc3339Copy())
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deprecated.daemonset.template.generation")
	delete(o.Object, "status")
	return o.Object
}

func TestDeletedObjectIsRecreated(t *testing.T) {
	c := newCluster(t)
	objects := c.objects(small)
	c.apply(objects)
	if err := c.server.Client.Delete(t.Context(), c.must("ConfigMap", "config")); err != nil {
		t.Fatal(err)
	}
	p := c.apply(objects)
	if pending := p.Pending(); len(pending) != 1 || pending[0].Verb != plan.Create {
		t.Errorf("plan:\n%s", p)
	}
	c.converged(objects)
}

func TestFieldsOfOtherManagersAreKept(t *testing.T) {
	c := newCluster(t)
	objects := c.objects(small)
	c.apply(objects)
	added := c.objects(strings.NewReplacer(
		"env: [{name: A, value: \"1\"}]", "env: [{name: B, value: \"2\"}]",
		"metadata: {name: agent, namespace: NAME}", "metadata: {name: agent, namespace: NAME, annotations: {theirs: x}}",
	).Replace(small))
	c.as(find(added, "DaemonSet", "agent").Object)
	c.converged(objects)

	changed := c.objects(strings.ReplaceAll(small, "agent:v1", "agent:v2"))
	c.apply(changed)
	live := c.must("DaemonSet.apps", "agent")
	env := at(live.Object, "spec", "template", "spec", "containers", 0, "env").([]any)
	if len(env) != 2 || live.GetAnnotations()["theirs"] != "x" {
		t.Errorf("after a change of ours, env is %v and annotations are %v", env, live.GetAnnotations())
	}
	c.converged(changed)
}

func TestRemovedFieldIsDeleted(t *testing.T) {
	c := newCluster(t)
	c.apply(c.objects(small))
	less := c.objects(strings.NewReplacer(`, b: "2"`, "", "nodeSelector: {kubernetes.io/os: linux}", "").Replace(small))
	c.apply(less)
	if data := c.must("ConfigMap", "config").Object["data"]; cmp.Diff(data, map[string]any{"a": "1"}) != "" {
		t.Errorf("data is %v", data)
	}
	if selector := at(c.must("DaemonSet.apps", "agent").Object, "spec", "template", "spec", "nodeSelector"); selector != nil {
		t.Errorf("nodeSelector is %v", selector)
	}
	c.converged(less)
}

func TestRemovedFieldIsDeletedAfterAReplacement(t *testing.T) {
	// A replacement must not leave fields behind that another manager than that of apply owns.
	c := newCluster(t)
	c.apply(c.objects(small))
	c.edit("DaemonSet.apps", "agent", func(o map[string]any) {
		at(o, "spec", "template", "spec").(map[string]any)["volumes"] = []any{map[string]any{"name": "tmp", "hostPath": map[string]any{"path": "/"}}}
	})
	c.apply(c.objects(small))
	less := c.objects(strings.NewReplacer("volumes: [{name: tmp, emptyDir: {}}]", "", "env: [{name: A, value: \"1\"}]", "").Replace(small))
	c.apply(less)
	spec := at(c.must("DaemonSet.apps", "agent").Object, "spec", "template", "spec").(map[string]any)
	if spec["volumes"] != nil || at(spec, "containers", 0, "env") != nil {
		t.Errorf("what is not wanted any more is still there: %v", spec)
	}
	c.converged(less)
}

func TestOtherStrategyIsApplied(t *testing.T) {
	// The defaults of the old strategy are not valid with the new one.
	const deployment = `
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: NAME}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: agent:v1}]}
`
	c := newCluster(t)
	c.apply(c.objects(deployment))
	objects := c.objects(strings.Replace(deployment, "  selector", "  strategy: {type: Recreate}\n  selector", 1))
	c.apply(objects)
	c.converged(objects)
}

func TestOneChangedObjectIsOneRequest(t *testing.T) {
	c := newCluster(t)
	c.apply(c.rich())
	objects := c.rich()
	find(objects, "ConfigMap", "config").Object.Object["data"].(map[string]any)["empty"] = "x"
	c.apply(objects)
	want := []string{"PATCH /api/v1/namespaces/" + c.name + "/configmaps/config"}
	if diff := cmp.Diff(want, c.requests.take()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestCRDsOfThePlanAreServedBeforeTheirObjects(t *testing.T) {
	c := newCluster(t)
	// rich has a definition, and an object of the kind that it defines. That the first plan succeeds is the point.
	result, err := c.executor.Execute(t.Context(), c.plan(c.rich()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(result.Outcomes, func(o apply.Outcome) bool { return o.Key.Kind == "Widget" && o.Verb == plan.Create }) {
		t.Error("no widget was created")
	}
}

func TestMissingKind(t *testing.T) {
	const monitor = `
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: monitoring.example.com/v1
kind: ServiceMonitor
metadata: {name: agent, namespace: NAME}
`
	c := newCluster(t)
	objects := c.objects(monitor)
	_, err := c.executor.Execute(t.Context(), c.plan(objects))
	want := "create ServiceMonitor " + c.name + "/agent: the API server does not serve ServiceMonitor.monitoring.example.com in version v1"
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if _, ok := c.live(manifest.Key{Kind: "Namespace", Name: c.name}); !ok {
		t.Error("the other object was not applied")
	}
}

func TestHangingServerTimesOut(t *testing.T) {
	c := newCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if _, err := c.executor.Execute(ctx, c.plan(c.objects(small))); err == nil || time.Since(start) > time.Minute {
		t.Errorf("error %v after %s", err, time.Since(start))
	}
}
