package idle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/idling"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{WithoutProjectCRDs: true}) }

type cluster struct {
	t         *testing.T
	api       client.Client
	server    *apitest.Server
	namespace string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	server := apitest.Shared(t)
	api, err := client.New(server.Config, client.Options{Scheme: clientscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, api, server, server.Namespace(t)}
}

// call runs the command in the namespace, and returns what it prints and its exit status.
func (c *cluster) call(args ...string) (string, int) {
	c.t.Helper()
	var out strings.Builder
	cmd := New(time.Now)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "-n", c.namespace, "--kubeconfig", c.server.Kubeconfig))
	status := exit.Report(&out, "cno", cmd.ExecuteContext(c.t.Context()))
	return out.String(), status
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	o.SetNamespace(c.namespace)
	if err := c.api.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) get(name string, o client.Object) {
	c.t.Helper()
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
}

func controlled(name string, by client.Object, kind string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": by.GetLabels()["app"]}}
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(by, appsv1.SchemeGroupVersion.WithKind(kind))}
	return m
}

var containers = corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "registry.invalid/a"}}}

// deployment creates one with a ReplicaSet and a pod, as its controllers do, and a Service.
func (c *cluster) deployment(name string, replicas int32) {
	c.t.Helper()
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: containers}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
	}}
	c.create(d)
	rs := &appsv1.ReplicaSet{ObjectMeta: controlled(name+"-1", d, "Deployment"), Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: template}}
	c.create(rs)
	c.create(&corev1.Pod{ObjectMeta: controlled(name+"-1-a", rs, "ReplicaSet"), Spec: containers})
	c.service(name, labels)
}

func (c *cluster) service(name string, selector map[string]string) {
	c.t.Helper()
	c.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: selector}, Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}}})
}

func TestIdle(t *testing.T) {
	c := newCluster(t)
	c.deployment("web", 3)
	c.create(&corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web"}}) //nolint:staticcheck // idled Services are marked on both
	if out, status := c.call("web", "--dry-run"); status != exit.OK || !strings.Contains(out, "would be idled: Deployment web scaled from 3 to 0") {
		t.Errorf("previewed: %d %s", status, out)
	}
	d := &appsv1.Deployment{}
	if c.get("web", d); *d.Spec.Replicas != 3 || len(d.Annotations) > 0 {
		t.Errorf("a preview writes: %+v", d)
	}
	before := time.Now().Add(-2 * time.Second)
	if out, status := c.call("web"); status != exit.OK || !strings.Contains(out, "web idled: Deployment web scaled from 3 to 0") {
		t.Fatalf("idled: %d %s", status, out)
	}
	if c.get("web", d); *d.Spec.Replicas != 0 || d.Annotations[idling.PreviousScale] != "3" || d.Annotations[idling.IdledAt] == "" {
		t.Errorf("the Deployment has %d replicas and %v", *d.Spec.Replicas, d.Annotations)
	}
	for _, o := range []client.Object{&corev1.Service{}, &corev1.Endpoints{}} { //nolint:staticcheck // likewise
		c.get("web", o)
		state, idled, err := idling.Decode(o.GetAnnotations())
		if err != nil || !idled || state.At.Before(before.Truncate(time.Second)) || len(state.Targets) != 1 || state.Targets[0].Name != "web" || state.Targets[0].Replicas != 3 {
			t.Errorf("%T: %t %v %+v", o, idled, err, state)
		}
	}
	// What is idled already keeps the number that it had.
	if out, status := c.call("web", "-o", "json"); status != exit.OK || !strings.Contains(out, `"replicas": 3`) {
		t.Errorf("idled twice: %d %s", status, out)
	}
}

// TestIdleWhileTheDeploymentIsWritten has a third party, such as the controller of Deployments, write the object right before each request for its scale.
func TestIdleWhileTheDeploymentIsWritten(t *testing.T) {
	c := newCluster(t)
	c.deployment("web", 3)
	write := func(ctx context.Context, api client.Client, o client.Object) error {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
		return annotate(ctx, api, d, map[string]string{"written": time.Now().String()})
	}
	watching, err := client.NewWithWatch(c.server.Config, client.Options{Scheme: clientscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	api := interceptor.NewClient(watching, interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, api client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption) error {
			return errors.Join(write(ctx, api, o), api.SubResource(name).Update(ctx, o, options...))
		},
		SubResourcePatch: func(ctx context.Context, api client.Client, name string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return errors.Join(write(ctx, api, o), api.SubResource(name).Patch(ctx, o, patch, options...))
		},
	})
	target := idling.Target{Replicas: 3}
	target.Group, target.Kind, target.Name = "apps", "Deployment", "web"
	if err := toZero(t.Context(), api, c.namespace, target, time.Now()); err != nil {
		t.Fatal(err)
	}
	d := &appsv1.Deployment{}
	if c.get("web", d); *d.Spec.Replicas != 0 || d.Annotations["written"] == "" {
		t.Errorf("the Deployment has %d replicas and %v", *d.Spec.Replicas, d.Annotations)
	}
}

func TestWhatCannotBeIdled(t *testing.T) {
	c := newCluster(t)
	c.deployment("web", 2)
	c.service("empty", map[string]string{"app": "empty"})
	c.service("manual", nil)
	c.service("shared", map[string]string{"app": "web"})
	c.service("bare", map[string]string{"app": "bare"})
	c.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bare", Labels: map[string]string{"app": "bare"}}, Spec: containers})
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Labels: map[string]string{"app": "agent"}}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}}, Spec: containers},
	}}
	c.create(ds)
	c.create(&corev1.Pod{ObjectMeta: controlled("agent-a", ds, "DaemonSet"), Spec: containers})
	c.service("agent", map[string]string{"app": "agent"})
	for _, row := range []struct {
		why    string
		args   []string
		status int
		want   []string
	}{
		{"all that cannot be idled at once, and nothing is written", []string{"web", "empty", "manual", "bare", "agent"}, exit.Refused, []string{
			"/empty: it has no pods", "/manual: it has no selector", "pod bare belongs to nothing that could be scaled", "pod agent-a belongs to DaemonSet agent, which cannot be scaled"}},
		{"unknown ones", []string{"x", "y"}, exit.Refused, []string{`"x" not found`, `"y" not found`}},
		{"none", nil, exit.Unusable, []string{"name Services, or give one of --all and --selector"}},
		{"two ways at once", []string{"web", "--all"}, exit.Unusable, []string{"name Services, or give one of"}},
		{"what is no selector", []string{"-l", "a=b=c"}, exit.Unusable, []string{"--selector: "}},
		{"a selector of nothing", []string{"-l", "app=none"}, exit.Refused, []string{"no Service of namespace"}},
		{"another Service with the same pods", []string{"web", "--dry-run"}, exit.OK, []string{"/shared is served by the same pods and is not idled"}},
		{"by a selector", []string{"-l", "app=web", "--dry-run"}, exit.OK, []string{"/shared would be idled: Deployment web scaled from 2 to 0", "/web would be idled"}},
	} {
		out, status := c.call(row.args...)
		if status != row.status {
			t.Errorf("%s: %d %s", row.why, status, out)
		}
		for _, want := range row.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is missing in %s", row.why, want, out)
			}
		}
	}
	d := &appsv1.Deployment{}
	if c.get("web", d); *d.Spec.Replicas != 2 {
		t.Errorf("the Deployment has %d replicas", *d.Spec.Replicas)
	}
}
