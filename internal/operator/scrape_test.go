package operator

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// mayRead allows a service account of the operator's namespace to read metrics, with the shipped role.
func (c *cluster) mayRead(account string) {
	c.t.Helper()
	c.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-metrics"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-network-operator-metrics"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: account}},
	})
}

// freePort is a port of the loopback address on which no one listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestMetricsRequireAuthorization runs the operator with the permissions that are shipped, and reads its metrics.
func TestMetricsRequireAuthorization(t *testing.T) {
	c := newClusterAlone(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	address := freePort(t)
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), func(o *Options) { o.MetricsAddress = address })
	reader, stranger := c.ServiceAccount(t, operatorNamespace, "prometheus"), c.ServiceAccount(t, operatorNamespace, "stranger")
	c.mayRead("prometheus")

	// The certificate is made at each start: whose it is, is not what this is about.
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(scheme, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := web.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return 0, err.Error()
		}
		return answer.StatusCode, string(body)
	}
	c.eventually("who may read, reads", func() bool {
		status, body := get("https", reader.BearerToken)
		return status == http.StatusOK && strings.Contains(body, "controller_runtime_reconcile_total")
	})
	for _, row := range []struct {
		why, token string
		status     int
	}{
		{"no token", "", http.StatusUnauthorized},
		{"a token that no one gave", "invented", http.StatusUnauthorized},
		{"a user without permission", stranger.BearerToken, http.StatusForbidden},
	} {
		if status, body := get("https", row.token); status != row.status || strings.Contains(body, "controller_runtime") {
			t.Errorf("%s: %d, want %d", row.why, status, row.status)
		}
	}
	if status, body := get("http", reader.BearerToken); status == http.StatusOK || strings.Contains(body, "controller_runtime") {
		t.Errorf("without TLS there is an answer: %d", status)
	}
}

// figures are the metrics of the process, by name and labels: those of histograms are how many observations there are.
func figures(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "cluster_network_operator_")
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			all[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func TestMetricsHaveRatesAndAges(t *testing.T) {
	c := newClusterAlone(t, apitest.Options{})
	before := figures(t) // other tests of this process have counted, too
	grown := func(name string) func() bool { return func() bool { return figures(t)[name] > before[name] } }
	agent := "DaemonSet " + fakeAgent + " " + fakeNamespace // labels are in the order of their names: kind, name, namespace
	c.create(newNetwork())
	c.start()
	c.eventually("a rollout has the time of its begin", func() bool {
		since := figures(t)["rollout_start_timestamp_seconds "+agent]
		return since > 0 && time.Since(time.Unix(int64(since), 0)) < time.Hour
	})
	for _, phase := range []string{"records", "render", "rollout"} {
		c.eventually("the phase "+phase+" is measured", grown("phase_duration_seconds "+phase))
	}
	c.eventually("a rollout that is through has none", func() bool {
		c.rolledOut(1) // again, for the operator may have changed how it rolls out
		_, found := figures(t)["rollout_start_timestamp_seconds "+agent]
		return !found
	})
	c.eventually("its end is counted", grown("network_events_total RolloutFinished"))
	c.eventually("conditions are figures", func() bool {
		all := figures(t)
		return all["condition Available AsExpected"] == 1 && all["condition Upgradeable AsExpected"] == 1
	})
	if err := c.Client.Delete(t.Context(), c.daemonSet(nil)); err != nil {
		t.Fatal(err)
	}
	c.eventually("what is repaired is counted", grown("drift_repairs_total DaemonSet"))
	c.rolledOut(1)
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = []string{"172.29.0.0/16"} })
	c.eventually("what is refused is counted", grown("refusals_total InvalidOperatorConfig"))
	c.eventually("a condition that is bad has its reason", func() bool { return figures(t)["condition Degraded InvalidOperatorConfig"] == 1 })
}
