package node_test

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// TestPodsOfALostBlock: a pod with an address of the former block of its node has no network, and is named with the way out. The pods that start afterwards have
// addresses of the new one.
func TestPodsOfALostBlock(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	lost, far := one.pod("one", "lost", nil), two.pod("two", "far", nil)
	nodetest.Reaches(t, lost.Namespace, far.address, podMTU)
	former := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: one.name}}
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(former), former); err != nil {
		t.Fatal(err)
	}
	if err := c.client.Delete(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	c.create(&sdnv1.HostSubnet{
		ObjectMeta: metav1.ObjectMeta{Name: one.name, Annotations: former.Annotations}, Host: one.name, HostIP: former.HostIP, Subnet: "10.128.100.0/23",
	})
	var next *pod
	eventually.Holds(t, "a pod has an address of the new block", func() (string, bool) {
		next = one.schedule("one", "next-"+strings.ToLower(rand.Text()[:6]), nil)
		err := next.add()
		return fmt.Sprint(err, next.address), err == nil && netip.MustParsePrefix("10.128.100.0/23").Contains(next.address)
	})
	nodetest.Reaches(t, next.Namespace, far.address, podMTU)
	nodetest.Reaches(t, far.Namespace, next.address, podMTU)
	eventually.Holds(t, "CHECK of the other pod fails", func() (string, bool) {
		err := lost.check()
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "has no flows")
	})
	if out, err := one.readyz(); err != nil || !strings.Contains(out, "pod one/lost: node node1 has another block now") {
		t.Errorf("/readyz does not name the pod: %s, %v", out, err)
	}
	if out, err := lost.Try("ping", "-n", "-c", "2", "-W", "2", far.address.String()); err == nil {
		t.Errorf("a pod with an address of the former block still has a network:\n%s", out)
	}
	eventually.Holds(t, "an event names the pod and what to do", func() (string, bool) {
		var events eventsv1.EventList
		if err := c.client.List(t.Context(), &events, client.InNamespace("one")); err != nil {
			return err.Error(), false
		}
		for _, e := range events.Items {
			if e.Reason == "PodAddressLost" {
				return e.Note, e.Regarding.Name == "lost" && strings.HasSuffix(e.Note, "kubectl delete pod -n one lost")
			}
		}
		return "no event", false
	})
	// The agent reads the address from the database, which a third party may change.
	database := "--db=unix:" + one.config.SwitchRunDir + "/db.sock"
	port := strings.TrimSpace(netns.Run(t, "ovs-vsctl", database, "--bare", "--columns=name", "find", "Interface", "external_ids:pod-name=lost"))
	netns.Run(t, "ovs-vsctl", database, "set", "Interface", port, `external_ids:ip="fd00::1"`)
	eventually.Holds(t, "the agent uses a port with an IPv6 address no longer", func() (string, bool) {
		out, err := one.readyz()
		return out, err == nil && !strings.Contains(out, "pod one/lost")
	})
	if err := lost.del(); err != nil {
		t.Errorf("DEL: %v", err)
	}
	nodetest.Reaches(t, next.Namespace, far.address, podMTU)
}
