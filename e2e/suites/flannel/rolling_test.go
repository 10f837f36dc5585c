package flannel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// restarted returns the operands of which no pod is one of before.
func restarted(before, after map[string][]types.UID) string {
	var names []string
	for name, uids := range after {
		if !slices.ContainsFunc(uids, func(u types.UID) bool { return slices.Contains(before[name], u) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestEditRestartsOnlyWhatItAffects(t *testing.T) {
	kit.Full(t)
	s, pods := lab.Expose(t, func(*corev1.ServiceSpec) {})
	answers := func(ctx context.Context) error {
		_, err := lab.Get(ctx, pods["worker-0"], "http://"+s.Spec.ClusterIP+"/hostname")
		return err
	}
	kit.Eventually(t, time.Minute, "the service answers", answers)
	before := operandPods(t)
	lab.Edit(t, func(s *operatorv1.NetworkSpec) {
		s.KubeProxyConfig = &osv1.ProxyConfig{
			IptablesSyncPeriod: "45s", ProxyArguments: map[string]osv1.ProxyArgumentList{"proxy-mode": {"iptables"}},
		}
	})
	kit.Eventually(t, time.Minute, "kube-proxy's settings are rolled out", lab.Settled)
	after := operandPods(t)
	if got := restarted(before, after); got != "kube-proxy" {
		t.Errorf("a change of kube-proxy's mode restarted: %s", got)
	}
	kit.Eventually(t, time.Minute, "services are served by iptables only", func(ctx context.Context) error {
		if err := answers(ctx); err != nil {
			return err
		}
		rules, err := lab.Lab(ctx, "exec", "worker-0", "--", "iptables-save", "-t", "nat")
		if err != nil {
			return err
		}
		tables, err := lab.Lab(ctx, "exec", "worker-0", "--", "nft", "list", "tables")
		if err != nil {
			return err
		}
		if !strings.Contains(rules, s.Spec.ClusterIP) || strings.Contains(tables, "kube-proxy") {
			return fmt.Errorf("tables of nftables:\n%srules of iptables:\n%s", tables, rules)
		}
		return nil
	})

	before = after
	if err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) { s.LogLevel, s.KubeProxyConfig = osv1.Debug, nil }); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the new log level is rolled out", lab.Settled)
	if got := restarted(before, operandPods(t)); got != "flanneld kube-proxy" {
		t.Errorf("a change of the log level restarted: %s", got)
	}
	kit.Eventually(t, time.Minute, "the service still answers", answers)
}
