package apply_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

func TestNamespaceThatIsBeingDeletedIsNamed(t *testing.T) {
	c := newCluster(t)
	objects := c.objects(small)
	c.apply(objects)
	// Nothing empties namespaces here, so that it stays as it is.
	if err := c.server.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.name}}); err != nil {
		t.Fatal(err)
	}
	if err := c.server.Client.Delete(t.Context(), c.must("ConfigMap", "config")); err != nil {
		t.Fatal(err)
	}
	_, err := c.executor.Execute(t.Context(), c.plan(objects))
	if err == nil || !strings.Contains(err.Error(), "apply Namespace "+c.name+": nothing can be done about it now: it is being deleted") {
		t.Errorf("error %v", err)
	}
	// Another operator instance may not have seen that yet.
	_, err = c.executor.Execute(t.Context(), c.plan(without(objects, "Namespace", c.name)))
	if want := "its namespace " + c.name + " is being deleted; it is created again afterwards"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestMissingPermissionsAreNamed(t *testing.T) {
	c := newCluster(t)
	c.apply(c.objects(small))
	c.executor.Client = clientFor(t, c.server.User(t, "nobody", "system:authenticated"), manager)
	_, err := c.executor.Execute(t.Context(), c.plan(c.objects(strings.Replace(small, `a: "1"`, `a: "2"`, 1))))
	want := "apply ConfigMap " + c.name + `/config: the operator is not allowed to: configmaps "config" is forbidden: User "nobody" cannot patch`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestInvalidObjectIsNamed(t *testing.T) {
	c := newCluster(t)
	objects := c.objects(strings.Replace(small, "app: agent} }", "", 1))
	spec := at(find(objects, "DaemonSet", "agent").Object.Object, "spec", "template", "spec").(map[string]any)
	spec["dnsPolicy"] = "Nonsense"
	_, err := c.executor.Execute(t.Context(), c.plan(objects))
	want := "create DaemonSet " + c.name + "/agent: the API server does not accept it: "
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "spec.template.spec.dnsPolicy") {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestRefusingPolicyIsNamed(t *testing.T) {
	c := newCluster(t)
	policy := c.objects(`
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "false", message: never here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Deny]}
`)
	c.apply(policy)
	config := c.objects(`{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: NAME}}`)[0]
	// The policy is in effect a moment after it was made.
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		_, err := c.executor.Execute(t.Context(), c.plan(append(policy, config)))
		if err != nil {
			if want := "an admission policy denied it: "; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "never here") {
				t.Errorf("error %v, want %q in it", err, want)
			}
			return
		}
		c.deleteNow(config)
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("nothing was refused")
}

func (c *cluster) deleteNow(o manifest.Object) {
	c.Helper()
	if live, ok := c.live(o.Key()); ok {
		if err := c.server.Client.Delete(c.Context(), live); err != nil {
			c.Fatal(err)
		}
	}
}
