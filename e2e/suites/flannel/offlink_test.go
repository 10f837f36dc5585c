package flannel

import (
	"context"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestAPeerThatIsNotOnTheLinkIsNamedInTheStatus(t *testing.T) {
	const key, value = "/coreos.com/network/subnets/10.244.253.0-24", `{"PublicIP":"192.0.2.9","PublicIPv6":null,"BackendType":"host-gw"}`
	remove := func(ctx context.Context) error { _, err := lab.Etcdctl(ctx, "cp-0", "del", key); return err }
	t.Cleanup(func() {
		if err := remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := lab.Etcdctl(t.Context(), "cp-0", "put", key, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { explainReports(t) })
	kit.Eventually(t, 2*time.Minute, "the condition names both nodes, the cause and the resolution", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "FlannelDegraded", "True", "PeersOffLink",
			"192.0.2.9", "10.244.253.0/24", "cp-0", "worker-0", "worker-1", "not on the link", "vxlan")
	})
	if err := remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the network is available once the peer is removed", lab.Settled)
}

// explainReports logs the reports of agents, their logs and that of the operator if the test failed: a condition alone does not show which
// part is missing.
func explainReports(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx := context.Background()
	show := func(what, out string, err error) { t.Logf("%s (%v):\n%s", what, err, out) }
	out, err := lab.Etcdctl(ctx, "cp-0", "get", "--prefix", "/coreos.com/network/")
	show("etcd", out, err)
	out, err = lab.Kubectl(ctx, "-n", kit.FlannelNamespace, "logs", "-l", "app=flanneld", "--prefix", "--tail=25")
	show("agents", out, err)
	out, err = lab.Kubectl(ctx, "-n", kit.OperatorNamespace, "logs", "deployment/"+kit.OperatorDeployment, "--tail=60")
	show("operator", out, err)
}
