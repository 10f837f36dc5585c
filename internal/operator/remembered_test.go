package operator

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
)

func TestAnotherLeaderRendersWithTheSameAddress(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	answers := address(t, strings.TrimSuffix(c.Config.Host, "/"))
	found := facts.HostPort{Host: "localhost", Port: answers.Port} // the same server, by another name
	log := slog.New(slog.DiscardHandler)
	if got := Remembered(t.Context(), c.Config, operatorNamespace, answers, log); got != answers {
		t.Errorf("before anything was rendered: %v", got)
	}
	remember := func(at facts.HostPort) {
		t.Helper()
		data, err := facts.Cluster{APIServer: at}.Publish()
		if err != nil {
			t.Fatal(err)
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: facts.ConfigMapName}, Data: data}
		if err := c.Client.Update(t.Context(), cm); err != nil {
			c.create(cm)
		}
	}
	remember(answers)
	if got := Remembered(t.Context(), c.Config, operatorNamespace, found, log); got != answers {
		t.Errorf("the address that operands have answers, and is not kept: %v", got)
	}
	gone := facts.HostPort{Host: "127.0.0.1", Port: 1}
	remember(gone)
	if got := Remembered(t.Context(), c.Config, operatorNamespace, answers, log); got != answers {
		t.Errorf("an address is kept that does not answer: %v", got)
	}
}

func TestConfiguredAPIServerIsNotOverridden(t *testing.T) {
	s := Surroundings{OverrideHost: "api.example", URLFile: "KUBERNETES_SERVICE_HOST=api-int.example\n", HostIP: "192.0.2.1"}
	for host, want := range map[string]bool{"api.example": true, "api-int.example": true, "192.0.2.1": false} {
		if got := s.Chosen(facts.HostPort{Host: host, Port: 6443}); got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// TestOperandsUseTheAPIServerThatIsChosenWithTheLease and not the one that a replica found when it began to wait.
func TestOperandsUseTheAPIServerThatIsChosenWithTheLease(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.create(newNetwork())
	chosen := facts.HostPort{Host: "192.0.2.99", Port: 6443}
	c.start(func(o *Options) {
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.1", Port: 6443}
		o.ChooseAPIServer = func(context.Context) facts.HostPort { return chosen }
	})
	var published facts.Cluster
	c.eventually("what operands use is published", func() bool {
		data := c.configMap(operatorNamespace, facts.ConfigMapName)
		if data == nil {
			return false
		}
		var err error
		published, err = facts.Published(data)
		return err == nil
	})
	if published.APIServer != chosen {
		t.Errorf("operands use %v, want %v", published.APIServer, chosen)
	}
}
