package openshift_test

import (
	"net/netip"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{OpenShift: openshift.Kinds()}) }

var cluster = openshift.Cluster{
	Name: "lab", BaseDomain: "example.com", NetworkType: "Flannel",
	PodNetwork: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14")}, HostPrefix: []int{23},
	ServiceNetwork: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/16")}, MachineNetwork: []netip.Prefix{netip.MustParsePrefix("10.89.0.0/24")},
	APIServer: netip.MustParseAddrPort("10.89.0.11:6443"), ControlPlanes: 1, Workers: 2,
}

func TestBootstrapObjectsAreAccepted(t *testing.T) {
	server := apitest.Shared(t)
	objects, err := openshift.Objects(cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		status, has, err := unstructured.NestedMap(o.Object, "status")
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Client.Create(t.Context(), o); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		if !has {
			continue
		}
		o.Object["status"] = status
		if err := server.Client.Status().Update(t.Context(), o); err != nil {
			t.Errorf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	var infrastructure configv1.Infrastructure
	if err := server.Client.Get(t.Context(), types.NamespacedName{Name: "cluster"}, &infrastructure); err != nil {
		t.Fatal(err)
	}
	if s := infrastructure.Status; s.ControlPlaneTopology != "SingleReplica" || s.InfrastructureTopology != "HighlyAvailable" ||
		s.PlatformStatus.Type != "None" || s.APIServerInternalURL != "https://api-int.lab.example.com:6443" {
		t.Errorf("got the status %+v", s)
	}
	var network configv1.Network
	if err := server.Client.Get(t.Context(), types.NamespacedName{Name: "cluster"}, &network); err != nil {
		t.Fatal(err)
	}
	if s := network.Spec; s.NetworkType != "Flannel" || s.ServiceNetwork[0] != "10.96.0.0/16" || s.ClusterNetwork[0].HostPrefix != 23 {
		t.Errorf("got the network %+v", s)
	}
}
