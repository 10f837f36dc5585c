package apitest_test

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	osv1 "github.com/openshift/api/operator/v1"
	controlplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

func TestServerServesEveryKindOfOpenShift(t *testing.T) {
	server := apitest.Start(t, apitest.Options{OpenShift: openshift.Kinds()})
	for _, list := range []client.ObjectList{
		&configv1.ProxyList{}, &configv1.NetworkList{}, &configv1.InfrastructureList{}, &configv1.ClusterOperatorList{},
		&configv1.APIServerList{}, &osv1.IngressControllerList{}, &controlplanev1alpha1.PodNetworkConnectivityCheckList{},
		&machineconfigv1.MachineConfigList{}, &machineconfigv1.MachineConfigPoolList{},
	} {
		if err := server.Client.List(t.Context(), list); err != nil {
			t.Errorf("list %T: %v", list, err)
		}
	}
	// The server validates as a cluster does: the name of the only one is cluster.
	bad := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		Spec: configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: "Nowhere"}}}
	if err := server.Client.Create(t.Context(), bad); err == nil {
		t.Error("the server takes a platform that does not exist")
	}
}

func TestCRDsAreAddedAndRemovedWhileTheServerRuns(t *testing.T) {
	const name = "proxies.config.openshift.io"
	server := apitest.Shared(t)
	served := func() bool {
		c, err := server.ClientFor(server.Config) // a new one, since a client remembers what is served
		if err != nil {
			t.Fatal(err)
		}
		err = c.List(t.Context(), &configv1.ProxyList{})
		if err != nil && !meta.IsNoMatchError(err) {
			t.Fatalf("list: %v", err)
		}
		return err == nil
	}
	if served() {
		t.Error("the API is available before it is installed")
	}
	for range 2 {
		server.Install(t, name)
		if !served() {
			t.Error("the API is not available after it is installed")
		}
		server.Uninstall(t, name)
		if served() {
			t.Error("the API is available after it is uninstalled")
		}
	}
}
