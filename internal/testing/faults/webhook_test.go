package faults_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/faults"
)

// webhook makes a webhook of a third party that validates DaemonSets and Deployments.
func (c *cluster) webhook(handler http.HandlerFunc) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c.Helper()
	server := httptest.NewTLSServer(handler)
	c.Cleanup(server.Close)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "judge.theirs.example", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(1)),
		FailurePolicy: new(admissionregistrationv1.Fail),
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			URL: new(server.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"daemonsets"}},
		}},
	}}}
	c.create(hook)
	// It is in effect some time after it is made.
	probe := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
	}}
	c.eventually("the webhook is asked", func() string {
		if err := c.Client.Create(c.Context(), probe.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "judge.theirs.example") {
			return errorOf(err) + "it is not"
		}
		return ""
	})
	return hook
}

func TestThirdPartyWebhookIsNamedAndBlocksNothingElse(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, condition, sentence string
		handler                   http.HandlerFunc
	}{
		{"denies", "Degraded", "the admission webhook judge.theirs.example, which is not the operator's, denied it: ", func(w http.ResponseWriter, r *http.Request) {
			var review admissionv1.AdmissionReview
			_ = json.NewDecoder(r.Body).Decode(&review) // what cannot be read has no UID, and is refused anyway
			review.Response = &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "not on my watch"}}
			if review.Request != nil {
				review.Response.UID = review.Request.UID
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(review)
		}},
		{"hangs", "Progressing", "the admission webhook judge.theirs.example, which is not the operator's, did not answer: ", func(http.ResponseWriter, *http.Request) {
			time.Sleep(2 * time.Second) // longer than it has
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			hook := c.webhook(row.handler)
			c.create(newNetwork())
			p := c.start(faults.NewLine(nil))
			c.eventually("the webhook is named", func() string {
				if have := c.condition(row.condition); !strings.Contains(have, row.sentence) {
					return row.condition + " is " + have
				}
				return ""
			})
			c.eventually("what it does not check exists", func() string {
				return errorOf(c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-flannel", Name: "flannel-etcd-cp-0"}, &appsv1.Deployment{}))
			})
			if err := c.Client.Delete(t.Context(), hook); err != nil {
				t.Fatal(err)
			}
			c.finishes(p, "without it the network is installed")
		})
	}
}

// TestNothingOfTheOperatorCanStopTheAPIServer looks for webhooks and finalizers of the operator's, which would be in the way
// when it is deleted.
func TestNothingOfTheOperatorCanStopTheAPIServer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.create(newNetwork())
	want, p := c.undisturbed()
	c.stop(p)
	for key := range want {
		if strings.Contains(key, "webhook") {
			t.Errorf("%s is the operator's", key)
		}
	}
	for key, o := range c.added() {
		if len(o.GetFinalizers()) > 0 {
			t.Errorf("%s has the finalizers %v", key, o.GetFinalizers())
		}
	}
	if err := c.Client.Delete(t.Context(), newNetwork()); err != nil {
		t.Fatal(err)
	}
	if n := c.network(); n.UID != "" {
		t.Errorf("the deleted network is still there: %v", n.Finalizers)
	}
}
