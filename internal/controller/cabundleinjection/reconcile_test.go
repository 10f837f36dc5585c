package cabundleinjection

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestLabeledConfigMapGetsCertificatesAndKeepsOtherKeys(t *testing.T) {
	c := newCluster(t)
	first, second := newCA(t, "first"), newCA(t, "second")
	c.trust(first)
	c.request("before", func(cm *corev1.ConfigMap) {
		cm.Data, cm.BinaryData = map[string]string{"mine": "1", "ca-bundle.crt": "placeholder"}, map[string][]byte{"raw": {0xff}}
		cm.Annotations = map[string]string{ownerAnnotation: "team a"}
	})
	c.start()
	c.awaitInjected("before", first)
	c.request("after")
	c.awaitInjected("after", first)
	if cm := c.get("before"); cm.Data["mine"] != "1" || len(cm.BinaryData["raw"]) != 1 || cm.Annotations[ownerAnnotation] != "team a" {
		t.Errorf("what is not ours has changed: %v, %v, %v", cm.Data["mine"], cm.BinaryData, cm.Annotations)
	}
	if got := c.get("after").Annotations[ownerAnnotation]; got != owner {
		t.Errorf("the owner is %q", got)
	}
	c.trust(first + second)
	c.awaitInjected("before", first+second)
	c.awaitInjected("after", first+second)
	c.wantNoWrites("all have them")
	if got := c.metric("cluster_network_operator_trusted_ca_configmaps", stateInjected); got != 2 {
		t.Errorf("the metric counts %v", got)
	}
	c.edit("after", func(cm *corev1.ConfigMap) { cm.Data["mine"] = "2" })
	c.wantNoWrites("another key was written")
	c.edit("after", func(cm *corev1.ConfigMap) { delete(cm.Data, "ca-bundle.crt") })
	c.awaitInjected("after", first+second)
	if c.get("after").Data["mine"] != "2" {
		t.Error("another key has changed")
	}
}

func TestARestartedControllerWritesNoCurrentConfigMap(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.trust(first)
	c.request("a")
	c.start()
	c.awaitInjected("a", first)
	c.stop()
	before := c.writes()
	c.edit("a", func(cm *corev1.ConfigMap) { cm.Data["mine"] = "1" })
	c.start()
	c.request("b")
	c.awaitInjected("b", first)
	if n := c.writes() - before; n != 1 {
		t.Errorf("%d writes after a restart, of which one was needed", n)
	}
	c.stop()
	c.edit("a", func(cm *corev1.ConfigMap) { cm.Data["ca-bundle.crt"] = "forged" })
	c.start()
	c.awaitInjected("a", first)
}

func TestUnlabeledConfigMapLosesOnlyTheCertificates(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.trust(first)
	for _, name := range []string{"watched", "meanwhile", "own"} {
		c.request(name, func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"mine": "1"} })
	}
	c.start()
	for _, name := range []string{"watched", "meanwhile", "own"} {
		c.awaitInjected(name, first)
	}
	gone := func(name string) func() bool {
		return func() bool {
			cm := c.get(name)
			_, has := cm.Data["ca-bundle.crt"]
			return !has && cm.Data["mine"] == "1" && len(cm.Annotations) == 0 && cm.Labels[markLabel] == ""
		}
	}
	c.edit("watched", func(cm *corev1.ConfigMap) { delete(cm.Labels, InjectLabel) })
	eventually.Is(t, "the key is gone, and the rest is there", gone("watched"))
	c.awaitEvent("watched", "Normal CABundleRemoved")
	// What its owner has written since is theirs.
	c.edit("own", func(cm *corev1.ConfigMap) { cm.Data["ca-bundle.crt"], cm.Labels[InjectLabel] = "mine", "false" })
	eventually.Is(t, "the mark is gone", func() bool { return c.get("own").Labels[markLabel] == "" })
	if got := c.get("own").Data["ca-bundle.crt"]; got != "mine" {
		t.Errorf("the owner's key is %q", got)
	}
	c.stop()
	c.edit("meanwhile", func(cm *corev1.ConfigMap) { delete(cm.Labels, InjectLabel) })
	c.start()
	eventually.Is(t, "who stopped asking while no one looked is found", gone("meanwhile"))
	c.edit("watched", func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{InjectLabel: "true"} })
	c.awaitInjected("watched", first)
}

func TestRefusalsAreEventsAndNotRetried(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.trust(first)
	yes := true
	c.request("immutable", func(cm *corev1.ConfigMap) { cm.Immutable = &yes })
	c.request("large", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"mine": strings.Repeat("x", 1<<20-100)} })
	c.request("fine")
	c.start()
	c.awaitInjected("fine", first)
	c.awaitEvent("immutable", "Warning CABundleImmutable: the ConfigMap is immutable, so that trusted certificates cannot be injected: recreate it without immutable")
	c.awaitEvent("large", "Warning CABundleTooLarge: with the trusted certificates the ConfigMap would have more than the 1048576 bytes")
	c.wantNoWrites("two are refused")
	if got := c.metric("cluster_network_operator_trusted_ca_configmaps", stateRefused); got != 2 {
		t.Errorf("the metric counts %v", got)
	}
	c.edit("large", func(cm *corev1.ConfigMap) { cm.Data["mine"] = "small" })
	c.awaitInjected("large", first)
	// The metric follows the write.
	eventually.Is(t, "one is refused", func() bool { return c.metric("cluster_network_operator_trusted_ca_configmaps", stateRefused) == 1 })
	if n := len(c.events("immutable")); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestRefusalByAdmissionIsAnEventOnTheConfigMap(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.trust(first)
	c.request("guarded")
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "guard"}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Update}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}}},
		Validations: []admissionv1.Validation{{Expression: "object.metadata.name != 'guarded' || has(object.metadata.annotations) && 'probe' in object.metadata.annotations", Message: "hands off"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "guard"}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "guard", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	c.Create(t, policy)
	c.Create(t, binding)
	eventually.Is(t, "the policy is in effect", func() bool {
		cm := c.get("guarded")
		cm.Data = map[string]string{"x": time.Now().String()}
		return c.Client.Update(t.Context(), cm, client.DryRunAll) != nil
	})
	c.start()
	c.awaitEvent("guarded", "hands off")
	c.wantNoWrites("it is refused")
}

func TestATerminatingNamespaceIsNoProblem(t *testing.T) {
	c := newCluster(t)
	first, second := newCA(t, "first"), newCA(t, "second")
	c.trust(first)
	c.request("going", func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"example.com/held"} })
	c.start()
	c.awaitInjected("going", first)
	if err := c.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.Delete(t.Context(), c.get("going")); err != nil {
		t.Fatal(err)
	}
	c.trust(second)
	c.wantNoWrites("the namespace goes")
	c.edit("going", func(cm *corev1.ConfigMap) { cm.Finalizers = nil })
	c.wantNoWrites("the ConfigMap is gone")
}

func TestMissingSourceIsNoErrorAndInvalidSourceIsReported(t *testing.T) {
	c := newCluster(t)
	c.request("a", func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"ca-bundle.crt": "mine"} })
	c.start()
	c.wantNoWrites("there is no source")
	first := newCA(t, "first")
	c.trust(first)
	c.awaitInjected("a", first)
	for why, data := range map[string]map[string]string{
		"has no key ca-bundle.crt":       {"other": "x"},
		"is a private key":               {"ca-bundle.crt": first + "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"},
		"has no certificate in PEM form": {"ca-bundle.crt": "nonsense"},
		"has no END line":                {"ca-bundle.crt": first + first[:50]},
	} {
		c.source(data)
		eventually.Is(t, "a finding with "+why, func() bool {
			findings, _, _ := c.board.Snapshot()
			return len(findings) == 1 && findings[0].Component == "InjectorConfig" && findings[0].Reason == "InvalidInjectorConfig" &&
				findings[0].Effect == status.Degraded && strings.Contains(findings[0].Message, why)
		})
		if c.get("a").Data["ca-bundle.crt"] != first {
			t.Errorf("%s: certificates were removed", why)
		}
	}
	c.trust(first)
	eventually.Is(t, "the finding is gone", func() bool { findings, _, _ := c.board.Snapshot(); return len(findings) == 0 })
}

func TestAClientThatKeepsWritingTheKeyIsNamed(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.trust(first)
	c.request("fought")
	c.start()
	for i := range contestedAfter + 1 {
		c.awaitInjected("fought", first)
		time.Sleep(50 * time.Millisecond) // the loop sees its own write, as it would in life
		c.edit("fought", func(cm *corev1.ConfigMap) { cm.Data["ca-bundle.crt"] = strings.Repeat("theirs", i+1) })
	}
	c.awaitEvent("fought", `Warning CABundleContested: the field manager "kubectl-edit" keeps writing the key ca-bundle.crt`)
	c.wantNoWrites("it is contested")
	c.edit("fought", func(cm *corev1.ConfigMap) { cm.Data["ca-bundle.crt"] = "again" })
	c.wantNoWrites("it is written once more")
	if got := c.metric("cluster_network_operator_trusted_ca_configmaps", stateContested); got != 1 {
		t.Errorf("the metric counts %v", got)
	}
	// Other certificates are another matter.
	second := newCA(t, "second")
	c.trust(second)
	c.awaitInjected("fought", second)
}

// forge applies another key ca-bundle.crt as the loop would, with the hash of the right one.
func (c *cluster) forge(name, text string) {
	c.t.Helper()
	m := c.get(name)
	var partial metav1.PartialObjectMetadata
	partial.Name, partial.Namespace, partial.UID = m.Name, m.Namespace, m.UID
	encoded, err := json.Marshal(text)
	if err != nil {
		c.t.Fatal(err)
	}
	content, err := body(&partial, &bundle{hash: m.Annotations[hashAnnotation], encoded: encoded})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.Client.Patch(c.t.Context(), m, client.RawPatch(types.ApplyPatchType, content), fieldManager, client.ForceOwnership); err != nil {
		c.t.Fatal(err)
	}
}

func TestForgedContentUnderTheOperatorsNameIsReverted(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.trust(first)
	c.request("watched")
	c.request("meanwhile")
	c.request("fixed")
	c.start()
	for _, name := range []string{"watched", "meanwhile", "fixed"} {
		c.awaitInjected(name, first)
	}
	c.forge("watched", newCA(t, "forged"))
	c.awaitInjected("watched", first)
	c.stop()
	c.forge("meanwhile", newCA(t, "forged"))
	c.forge("fixed", newCA(t, "forged"))
	c.edit("fixed", func(cm *corev1.ConfigMap) { yes := true; cm.Immutable = &yes })
	c.start()
	c.awaitInjected("meanwhile", first)
	c.awaitEvent("fixed", "Warning CABundleImmutable")
	c.wantNoWrites("all is right, or cannot be")
	if got := c.metric("cluster_network_operator_trusted_ca_configmaps", stateRefused); got != 1 {
		t.Errorf("%v are refused", got)
	}
}

func TestForgingClientIsNamed(t *testing.T) {
	c := newCluster(t)
	var ahead atomic.Int64 // the time between two reads of a ConfigMap does not have to pass
	c.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	first := newCA(t, "first")
	c.trust(first)
	c.request("fought")
	c.start()
	for i := range contestedAfter + 1 {
		c.awaitInjected("fought", first)
		ahead.Add(int64(readInterval))
		c.forge("fought", newCA(t, strings.Repeat("forged", i+1)))
	}
	c.awaitEvent("fought", "Warning CABundleContested: another client with the operator's field manager "+
		`"cluster-network-operator/configmap_ca" keeps writing the key ca-bundle.crt`)
}

func TestANamespaceGetsCertificatesInTheOldestConfigMapsOnly(t *testing.T) {
	c := newCluster(t)
	var ahead atomic.Int64
	c.now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	first, second := newCA(t, "first"), newCA(t, "second")
	c.trust(first)
	name := func(i int) string { return fmt.Sprintf("asking-%03d", i) }
	for i := range maxPerNamespace {
		c.request(name(i))
	}
	// The API server's times have whole seconds, and names decide within one.
	for _, i := range []int{maxPerNamespace, maxPerNamespace + 1} {
		c.request(name(i))
	}
	c.start()
	c.awaitEvent(name(maxPerNamespace), fmt.Sprintf("Warning CABundleLimit: namespace %s has more than 100 ConfigMaps with the label %s",
		c.namespace, InjectLabel))
	c.awaitEvent(name(maxPerNamespace+1), "Warning CABundleLimit")
	for i := range maxPerNamespace {
		c.awaitInjected(name(i), first)
	}
	c.wantNoWrites("the others do not get them")
	states := func(state string) float64 { return c.metric("cluster_network_operator_trusted_ca_configmaps", state) }
	if injected, refused := states(stateInjected), states(stateRefused); injected != maxPerNamespace || refused != 2 {
		t.Errorf("%v are injected, %v refused", injected, refused)
	}
	if err := c.Client.Delete(t.Context(), c.get(name(0))); err != nil {
		t.Fatal(err)
	}
	eventually.Is(t, "it is forgotten", func() bool { return states(stateInjected) == maxPerNamespace-1 })
	ahead.Add(int64(limitCacheTime))
	c.trust(second)
	for i := range maxPerNamespace {
		c.awaitInjected(name(i+1), second)
	}
	c.wantNoWrites("there is one that does not get them")
	if got := c.get(name(maxPerNamespace + 1)).Data["ca-bundle.crt"]; got != "" {
		t.Errorf("the youngest has %q", got)
	}
	if n := len(c.events(name(maxPerNamespace + 1))); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestSourceIsNeverATarget(t *testing.T) {
	c := newCluster(t)
	first := newCA(t, "first")
	c.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: bundleNamespace, Name: bundleName, Labels: map[string]string{InjectLabel: "true"}},
		Data: map[string]string{"ca-bundle.crt": first}})
	c.request("a")
	c.start()
	c.awaitInjected("a", first)
	c.wantNoWrites("the source asks for itself")
	var cm corev1.ConfigMap
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: bundleNamespace, Name: bundleName}, &cm); err != nil || cm.Annotations[hashAnnotation] != "" {
		t.Errorf("%v, %v", cm.Annotations, err)
	}
}
