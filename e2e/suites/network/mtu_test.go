package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// migrationLimit is the time limit of a migration in the lab: three rollouts of the agents, or three updates of a mounted ConfigMap in running pods.
const migrationLimit = 6 * time.Minute

// migrates skips a test unless the operator changes the MTU of the network itself.
func migrates(t *testing.T) {
	t.Helper()
	kit.Full(t)
	if _, ok := network.Provider.(provider.MTUMigrator); !ok {
		t.Skip("the operator does not change the MTU of this network")
	}
}

// appliedMTU is the MTU of pods in the applied record.
func appliedMTU(ctx context.Context) (int, error) {
	out, err := lab.Kubectl(ctx, "-n", kit.OperatorNamespace, "get", "configmap", "applied-cluster", "-o", "jsonpath={.data.applied}")
	if err != nil {
		return 0, err
	}
	var spec operatorv1.NetworkSpec
	if err := json.Unmarshal([]byte(out), &spec); err != nil {
		return 0, err
	}
	mtu, _ := network.Provider.(provider.MTUMigrator).PodMTU(&spec)
	return mtu, nil
}

// announce sets spec.migration, or removes it when from is 0.
func announce(t *testing.T, from, to int) {
	t.Helper()
	migration := "null"
	if from != 0 {
		migration = fmt.Sprintf(`{"mtu":{"network":{"from":%d,"to":%d}}}`, from, to)
	}
	if _, err := lab.Kubectl(context.Background(), "patch", "networks.operator.openshift.io", "cluster", "--type=merge", "-p", `{"spec":{"migration":`+migration+`}}`); err != nil {
		t.Fatal(err)
	}
}

// upgradeable is the reason of the condition Upgradeable, and its message.
func upgradeable(ctx context.Context) (string, error) {
	return lab.Kubectl(ctx, "get", "networks.operator.openshift.io", "cluster", "-o", `jsonpath={range .status.conditions[?(@.type=="Upgradeable")]}{.status} {.reason} {.message}{end}`)
}

// waitUpgradeable waits until the condition Upgradeable contains all words.
func waitUpgradeable(t *testing.T, words ...string) {
	t.Helper()
	kit.Eventually(t, migrationLimit, "Upgradeable has "+strings.Join(words, ", "), func(ctx context.Context) error {
		text, err := upgradeable(ctx)
		if err != nil {
			return err
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				return errors.New(text)
			}
		}
		return nil
	})
}

// podMTU is the MTU of a pod's interface.
func podMTU(ctx context.Context, pod *corev1.Pod) (string, error) {
	return lab.Exec(ctx, pod, "cat /sys/class/net/eth0/mtu")
}

// has waits until all running pods have an MTU, and the applied record has it, too.
func has(t *testing.T, pods []*corev1.Pod, mtu int) {
	t.Helper()
	kit.Eventually(t, migrationLimit, fmt.Sprintf("all pods have MTU %d", mtu), func(ctx context.Context) error {
		for _, p := range pods {
			if got, err := podMTU(ctx, p); err != nil || got != fmt.Sprint(mtu) {
				return fmt.Errorf("%s has %s: %w", p.Name, got, err)
			}
		}
		if got, err := appliedMTU(ctx); err != nil || got != mtu {
			return fmt.Errorf("applied is %d: %w", got, err)
		}
		return nil
	})
}

// whole makes each pod send packets of a length that must not be fragmented to the next one until the test ends.
func whole(t *testing.T, pods []*corev1.Pod, length int) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	sent := 0
	group.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			from, to := pods[i%len(pods)], pods[(i+1)%len(pods)]
			out, err := lab.Exec(ctx, from, fmt.Sprintf("ping -n -c 3 -i 0.2 -W 2 -M do -s %d %s", length-28, to.Status.PodIP))
			if ctx.Err() != nil {
				return
			}
			if sent++; err != nil {
				t.Errorf("%s does not reach %s with packets of %d: %v %s", from.Name, to.Name, length, err, out)
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
		t.Logf("%d times three packets of %d bytes were sent", sent, length)
	})
}

func TestTheMTUIsChangedWhilePodsTalk(t *testing.T) {
	migrates(t)
	pods := slices.Collect(maps.Values(lab.ServerOnEachNode(t, lab.Namespace(t), nil)))
	from, err := appliedMTU(t.Context())
	if err != nil || from == 0 {
		t.Fatalf("the MTU is %d: %v", from, err)
	}
	to := from - 50
	whole(t, pods, to)

	announce(t, from, to)
	waitUpgradeable(t, "False", "MTUMigration")
	// The operator is killed during a phase.
	if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "delete", "pods", "-l", "name=network-operator", "--wait=false"); err != nil {
		t.Error(err)
	}
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pool := netip.MustParsePrefix(n.Spec.ClusterNetwork[0].CIDR)
	larger := fmt.Sprintf(`[{"op":"replace","path":"/spec/clusterNetwork/0/cidr","value":"%s"}]`, netip.PrefixFrom(pool.Addr(), pool.Bits()-1))
	if out, err := lab.Kubectl(t.Context(), "patch", "networks.operator.openshift.io", "cluster", "--type=json", "--dry-run=server", "-p", larger); err == nil {
		t.Errorf("the pools can be changed: %s", out)
	}
	waitUpgradeable(t, "False", "MTUMigrationFinished", fmt.Sprintf("The MTU of all pods is %d. Remove spec.migration", to))
	has(t, pods, to)
	announce(t, 0, 0)
	waitUpgradeable(t, "True")

	announce(t, to, from)
	waitUpgradeable(t, "MTUMigrationFinished")
	has(t, pods, from)
	announce(t, 0, 0)
	waitUpgradeable(t, "True")
}

func TestMigrationIsRolledBackHalfway(t *testing.T) {
	migrates(t)
	pods := slices.Collect(maps.Values(lab.ServerOnEachNode(t, lab.Namespace(t), nil)))
	from, err := appliedMTU(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole(t, pods, from-50)
	announce(t, from, from-50)
	waitUpgradeable(t, "MTUMigrationFinishing")
	announce(t, 0, 0)
	waitUpgradeable(t, "True")
	has(t, pods, from)
}
