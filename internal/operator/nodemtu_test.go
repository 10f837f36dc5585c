package operator

import (
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestNewNetworkUsesTheSmallestMTUOfItsNodes(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, name := range []string{"a", "b"} {
		c.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c.create(newNetwork())
	c.start(withRegistry(fakeRegistry(true)))
	c.eventually("it waits for the nodes", c.is("Progressing", osv1.ConditionTrue, "WaitingForNodeMTU"))
	if c.configMap(fakeNamespace, "config-0") != nil {
		t.Error("something is applied already")
	}
	c.eventually("both are asked", func() bool { return len(c.probes()) == 2 })
	c.answerProbes(1400)
	c.eventually("the network has the MTU", c.has("mtu", "1400"))
	c.eventually("the probes are removed", func() bool { return len(c.probes()) == 0 })

	c.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
	c.eventually("a node that joins is asked", func() bool { return c.answerProbes(1300) == 1 })
	c.eventually("and named, since it is too small", func() bool {
		have := c.condition("NodeMTUDegraded")
		return have.Reason == "MTUTooSmall" && strings.Contains(have.Message, "late (1300)")
	})
	if !c.has("mtu", "1400")() {
		t.Error("the MTU of the network has changed under its pods")
	}
}

// probes returns the names of the existing probes.
func (c *cluster) probes() []string {
	var pods corev1.PodList
	if err := c.Client.List(c.t.Context(), &pods); err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for i := range pods.Items {
		if strings.HasPrefix(pods.Items[i].Name, "mtu-prober-") && pods.Items[i].DeletionTimestamp == nil {
			names = append(names, pods.Items[i].Name)
		}
	}
	return names
}
