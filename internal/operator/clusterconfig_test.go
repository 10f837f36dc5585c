package operator

import (
	"net/http"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

const networkConfigs, infrastructures = "networks.config.openshift.io", "infrastructures.config.openshift.io"

func newClusterConfig() *configv1.Network {
	return &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: configv1.NetworkSpec{
		ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, ServiceNetwork: []string{"10.96.0.0/16"}, NetworkType: "Flannel",
	}}
}

func (c *cluster) clusterConfig() *configv1.Network {
	var n configv1.Network
	_ = c.Client.Get(c.t.Context(), client.ObjectKey{Name: "cluster"}, &n)
	return &n
}

// follows reports whether the condition Synced of Network.config has a status and a reason.
func (c *cluster) follows(status metav1.ConditionStatus, reason string) func() bool {
	return func() bool {
		have := meta.FindStatusCondition(c.clusterConfig().Status.Conditions, "Synced")
		return have != nil && have.Status == status && have.Reason == reason
	}
}

func (c *cluster) editClusterConfig(change func(*configv1.NetworkSpec)) {
	c.t.Helper()
	n := c.clusterConfig()
	apitest.Change(c.t, c.Client, n, func() { change(&n.Spec) })
}

// setPlatform sets the platform of the Infrastructure, and makes it if there is none.
func (c *cluster) setPlatform(platform configv1.PlatformType) {
	c.t.Helper()
	infra := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	if err := c.Client.Get(c.t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
		c.create(infra)
	}
	apitest.ChangeStatus(c.t, c.Client, infra, func() {
		infra.Status = configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: platform},
			ControlPlaneTopology: "HighlyAvailable", InfrastructureTopology: "HighlyAvailable", CPUPartitioning: "None"}
	})
}

func (c *cluster) platformIs(want string) func() bool {
	return func() bool { return c.configMap(operatorNamespace, "operator-facts")["platform"] == want }
}

func TestNetworkConfigAloneInstallsTheNetworkAndHasItsStatus(t *testing.T) {
	c := newCluster(t, apitest.Options{OpenShift: []string{networkConfigs, "clusteroperators.config.openshift.io"}})
	r := c.start()
	c.create(newClusterConfig())
	c.eventually("it is applied", c.recorded)
	c.eventually("its status is that of the network", func() bool {
		s := c.clusterConfig().Status
		return s.NetworkType == "Flannel" && len(s.ClusterNetwork) == 1 && len(s.ServiceNetwork) == 1
	})
	c.eventually("it is in sync", c.follows(metav1.ConditionTrue, "AsExpected"))
	c.eventually("the platform is reported", c.platformIs("None"))

	c.editClusterConfig(func(s *configv1.NetworkSpec) { s.ServiceNetwork = []string{"10.97.0.0/16"} })
	c.eventually("an unsafe edit is refused where it was made", c.follows(metav1.ConditionFalse, "UnsafeClusterConfig"))
	c.eventually("and the cluster knows", func() bool {
		var o configv1.ClusterOperator
		_ = c.Client.Get(t.Context(), client.ObjectKey{Name: "network"}, &o)
		return slices.ContainsFunc(o.Status.Conditions, func(have configv1.ClusterOperatorStatusCondition) bool {
			return have.Type == configv1.OperatorDegraded && have.Status == configv1.ConditionTrue && have.Reason == "InvalidClusterConfig"
		})
	})
	if got := c.condition("Degraded"); got.Status == osv1.ConditionTrue {
		t.Errorf("the network has no error, and reports %+v", got)
	}
	c.eventually("there is an event", func() bool {
		var events eventsv1.EventList
		if err := c.Client.List(t.Context(), &events); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Reason == "UnsafeClusterConfig" && e.Regarding.Kind == "Network" && e.Regarding.APIVersion == "config.openshift.io/v1"
		})
	})
	c.edit(func(f *operatorv1.FlannelConfig) { f.Interface = "eth7" })
	c.eventually("everything else continues", c.has("interface", "eth7"))
	if got := c.network().Spec.ServiceNetwork[0]; got != "10.96.0.0/16" {
		t.Errorf("%s was written down", got)
	}
	c.editClusterConfig(func(s *configv1.NetworkSpec) { s.ServiceNetwork = []string{"10.96.0.0/16"} })
	c.eventually("after it is reverted, the network is healthy", c.follows(metav1.ConditionTrue, "AsExpected"))

	r.http.settled(t)
	writes := r.http.writeCount()
	c.consistently("it is quiet", 500*time.Millisecond, func() bool { return r.http.writeCount() == writes })
}

// TestPlatformIsReadWhenTheInfrastructureAppears: the kind itself may come after the start.
func TestPlatformIsReadWhenTheInfrastructureAppears(t *testing.T) {
	c := newCluster(t, apitest.Options{OpenShift: []string{networkConfigs}})
	c.start()
	c.create(newClusterConfig())
	c.eventually("without the kind there is no platform", c.platformIs("None"))
	c.Install(t, infrastructures)
	c.setPlatform(configv1.AWSPlatformType)
	c.eventually("it is the one of the object", c.platformIs("AWS"))
	c.editClusterConfig(func(s *configv1.NetworkSpec) {
		s.ClusterNetwork = append(s.ClusterNetwork, configv1.ClusterNetworkEntry{CIDR: "fd01::/48", HostPrefix: 64})
		s.ServiceNetwork = append(s.ServiceNetwork, "fd02::/112")
	})
	c.eventually("two families are refused there", c.follows(metav1.ConditionFalse, "InvalidClusterConfig"))
	c.setPlatform(configv1.BareMetalPlatformType)
	c.eventually("it follows the object", c.platformIs("BareMetal"))
	c.eventually("and now the error is another one", c.follows(metav1.ConditionFalse, "InvalidClusterConfig"))
}

// TestShortFormAndNetworkConfigDoNotFight: Network.config wins, the short form reports it, and nothing more is written.
func TestShortFormAndNetworkConfigDoNotFight(t *testing.T) {
	c := newCluster(t, apitest.Options{OpenShift: []string{networkConfigs}})
	c.create(newConfig())
	r := c.start()
	c.eventually("the short form is followed", c.synced(osv1.ConditionTrue, "AsExpected"))
	c.eventually("it is applied", c.has("interface", "eth1"))
	same := newClusterConfig()
	c.create(same)
	c.eventually("both are equal", c.follows(metav1.ConditionTrue, "AsExpected"))
	c.eventually("and both report it", c.synced(osv1.ConditionTrue, "AsExpected"))

	n := c.config()
	apitest.Change(t, c.Client, n, func() { n.Spec.ServiceNetwork = "10.98.0.0/16" })
	c.eventually("an edit of the short form is reverted", func() bool {
		return c.synced(osv1.ConditionFalse, "NetworkDiffers")() && c.network().Spec.ServiceNetwork[0] == "10.96.0.0/16"
	})
	r.http.settled(t)
	writes := r.http.writeCount()
	c.consistently("nothing flaps", time.Second, func() bool { return c.network().Spec.ServiceNetwork[0] == "10.96.0.0/16" })
	if more := r.http.writeCount() - writes; more > 0 {
		t.Errorf("%d writes while the two differ", more)
	}
	if got := c.network().Spec.DefaultNetwork.FlannelConfig.Interface; got != "eth1" {
		t.Errorf("the interface of the short form is %q", got)
	}
	for _, request := range c.Requests(t) {
		if request.Response.Code == http.StatusUnprocessableEntity {
			t.Errorf("%s %s is answered %d", request.Verb, request.URI, request.Response.Code)
		}
	}
}
