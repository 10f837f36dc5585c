package apply_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

func TestImmutableObjectIsRecreated(t *testing.T) {
	for _, tc := range []struct{ name, kind, object, old, new string }{
		{"the selector of a DaemonSet", "DaemonSet.apps", "agent", "{app: agent}", "{app: agent2}"},
		{"the selector of a Deployment", "Deployment.apps", "controller", "{app: controller}", "{app: controller2}"},
		{"the role of a RoleBinding", "RoleBinding.rbac.authorization.k8s.io", "agent", "kind: Role, name: agent}", "kind: ClusterRole, name: NAME}"},
		{"a Service that becomes headless", "Service", "plain", "{name: plain, namespace: NAME}\nspec:\n", "{name: plain, namespace: NAME}\nspec:\n  clusterIP: None\n"},
		{"a Service that gets an address", "Service", "headless", "  clusterIP: None\n", ""},
		{"the type of a Secret", "Secret", "plain", "stringData", "type: example.com/mine\nstringData"},
		{"the value of a PriorityClass", "PriorityClass.scheduling.k8s.io", "", "value: 1000", "value: 2000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t)
			c.apply(c.rich())
			before := c.liveOf(tc.kind, tc.object)
			objects := c.objects(strings.ReplaceAll(richText(t), tc.old, tc.new))
			p := c.apply(objects)
			if !strings.Contains(p.String(), "recreate "+before.Kind) {
				t.Errorf("plan:\n%s", p)
			}
			if after := c.liveOf(tc.kind, tc.object); after.uid == before.uid {
				t.Error("it is the same object as before")
			}
			c.converged(objects)
		})
	}
}

type seen struct {
	manifest.Key
	uid types.UID
}

// liveOf returns the UID of an object; an empty name is that of a cluster-scoped object of the test.
func (c *cluster) liveOf(kind, name string) seen {
	c.Helper()
	key := c.key(kind, name)
	if name == "" {
		key.Namespace, key.Name = "", c.name
	}
	o, ok := c.live(key)
	if !ok {
		c.Fatalf("%s does not exist", key)
	}
	return seen{key, o.GetUID()}
}

func TestPodsThatTheNewWorkloadSelectsKeepRunning(t *testing.T) {
	c := newCluster(t)
	const more = "labels: {app: agent, part: node}"
	text := strings.Replace(small, "labels: {app: agent}", more, 1)
	c.apply(c.objects(text))
	objects := c.objects(strings.Replace(text, "matchLabels: {app: agent}", "matchLabels: {part: node}", 1))
	p := c.plan(objects)
	if pending := p.Pending(); len(pending) != 1 || pending[0].Verb != plan.Recreate || !pending[0].Orphan {
		t.Fatalf("plan:\n%s", p)
	}
	// There is no garbage collector here to let the object go when its pods are free.
	collected := make(chan error, 1)
	go func() { collected <- c.collectOrphans("agent") }()
	if _, err := c.executor.Execute(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := <-collected; err != nil {
		t.Fatal(err)
	}
	c.converged(objects)
}

// collectOrphans does what the garbage collector does with a DaemonSet whose pods are to stay.
func (c *cluster) collectOrphans(name string) error {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		o, ok := c.live(c.key("DaemonSet.apps", name))
		if ok && len(o.GetFinalizers()) == 1 && o.GetFinalizers()[0] == "orphan" {
			o.SetFinalizers(nil)
			return c.server.Client.Update(c.Context(), o)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("no one asked to keep the pods")
}

func TestCRDIsNeverRecreated(t *testing.T) {
	c := newCluster(t)
	c.apply(c.rich())
	objects := c.objects(strings.Replace(richText(t), "scope: Namespaced", "scope: Cluster", 1))
	_, err := c.executor.Execute(t.Context(), c.plan(objects))
	if err == nil || !strings.Contains(err.Error(), "spec.scope: Namespaced -> Cluster; recreating it would delete all objects of its kind") {
		t.Errorf("error %v", err)
	}
}

func TestForeignObjectIsAdoptedAndNeverDeleted(t *testing.T) {
	c := newCluster(t)
	foreign := c.objects(small)
	for _, o := range foreign {
		o.Object.SetLabels(map[string]string{"theirs": "x"})
		c.as(o.Object)
	}
	objects := c.objects(strings.Replace(small, `a: "1"`, `a: "ours"`, 1))
	p := c.apply(objects)
	for _, a := range p.Actions {
		if !a.Adopted || !strings.Contains(a.String(), "it existed before") {
			t.Errorf("%s", a)
		}
	}
	live := c.must("ConfigMap", "config")
	if live.GetLabels()["theirs"] != "x" || at(live.Object, "data", "a") != "ours" {
		t.Errorf("got %v", live.Object)
	}
	c.converged(objects)

	p = c.apply(nil)
	if strings.Contains(p.String(), "delete") {
		t.Errorf("plan:\n%s", p)
	}
	c.must("ConfigMap", "config")
	c.must("DaemonSet.apps", "agent")
}

func TestForeignObjectIsNotRecreated(t *testing.T) {
	c := newCluster(t)
	for _, o := range c.objects(strings.ReplaceAll(small, "app: agent", "app: theirs")) {
		o.Object.SetLabels(nil)
		c.as(o.Object)
	}
	_, err := c.executor.Execute(t.Context(), c.plan(c.objects(small)))
	if err == nil || !strings.Contains(err.Error(), "it does not belong to the operator") {
		t.Errorf("error %v", err)
	}
	if got := at(c.must("DaemonSet.apps", "agent").Object, "spec", "selector", "matchLabels", "app"); got != "theirs" {
		t.Errorf("the selector is %v", got)
	}
}

func TestObsoleteObjectIsDeletedWhenItsReplacementWorks(t *testing.T) {
	c := newCluster(t)
	c.apply(c.rich())
	less := without(without(c.rich(), "ConfigMap", "config"), "Widget", "one")
	p := c.planWith(less, func() (bool, string) { return false, "DaemonSet NAME/agent: 0 of 3 pods are available" })
	if got := p.String(); !strings.Contains(got, "keep ConfigMap "+c.name+"/config: it is not rendered any more, and is deleted when what takes its place works: DaemonSet NAME/agent: 0 of 3") {
		t.Errorf("plan:\n%s", got)
	}
	p = c.planWith(less, func() (bool, string) { return true, "" })
	if _, err := c.executor.Execute(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.live(c.key("ConfigMap", "config")); ok {
		t.Error("the ConfigMap is still there")
	}
	c.converged(less)
}

func TestCRDInUseIsKept(t *testing.T) {
	c := newCluster(t)
	c.apply(c.rich())
	less := without(without(c.rich(), "CustomResourceDefinition", "widgets."+c.name+".example.com"), "Widget", "one")
	foreign := find(c.rich(), "Widget", "one").Object
	foreign.SetName("theirs")
	c.as(foreign)
	c.requests.take()
	result, err := c.executor.Execute(t.Context(), c.plan(less))
	if err != nil {
		t.Fatal(err)
	}
	crd := manifest.Key{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets." + c.name + ".example.com"}
	last := result.Outcomes[len(result.Outcomes)-1]
	if last.Key != crd || last.Verb != plan.Keep || !strings.Contains(last.String(), "there are objects of kind Widget") {
		t.Errorf("got %s", last)
	}
	if err := c.server.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	c.apply(less)
	if o, ok := c.live(crd); ok && o.GetDeletionTimestamp() == nil {
		t.Error("the definition is still there although no one uses it")
	}
}
