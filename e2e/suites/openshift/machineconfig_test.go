package openshift

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestMachineConfigPoolsAreObservedUntilUpdated sets the progress of the pool itself, since the lab has no machine-config operator.
func TestMachineConfigPoolsAreObservedUntilUpdated(t *testing.T) {
	const name = "10-suite-worker"
	config := &machineconfigv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		"machineconfiguration.openshift.io/role": "worker", "app.kubernetes.io/managed-by": "cluster-network-operator"}}}
	if err := lab.Client.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := lab.Client.Delete(ctx, config); client.IgnoreNotFound(err) != nil { // deleted already if the test passed
			t.Error(err)
		}
		setSources(ctx, t)
	})
	const processing = "worker machine config pool is still processing " + name + " machine config"
	progressing(t, "a new one", processing)
	setSources(t.Context(), t, name)
	progressing(t, "the pool has it", "")
	if err := lab.Client.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	progressing(t, "deleted", processing)
	if _, err := lab.Kubectl(t.Context(), "delete", "pod", "--namespace", kit.OperatorNamespace, "--selector", "name=network-operator", "--wait"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "a new operator runs", lab.OperatorRuns)
	progressing(t, "another operator leads", processing)
	setSources(t.Context(), t)
	kit.Eventually(t, time.Minute, "the ClusterOperator reports no problem", clusterOperatorSettled)
}

// setSources sets the MachineConfigs that all nodes of the pool of workers have.
func setSources(ctx context.Context, t *testing.T, names ...string) {
	t.Helper()
	pool := &machineconfigv1.MachineConfigPool{}
	if err := lab.Client.Get(ctx, client.ObjectKey{Name: "worker"}, pool); err != nil {
		t.Fatal(err)
	}
	pool.Status = machineconfigv1.MachineConfigPoolStatus{Conditions: []machineconfigv1.MachineConfigPoolCondition{}, CertExpirys: []machineconfigv1.CertExpiry{}}
	for _, name := range names {
		pool.Status.Configuration.Source = append(pool.Status.Configuration.Source, corev1.ObjectReference{Kind: "MachineConfig", Name: name})
	}
	if err := lab.Client.Status().Update(ctx, pool); err != nil {
		t.Fatal(err)
	}
}

// progressing waits until the condition Progressing of the ClusterOperator is True with a message, or False.
func progressing(t *testing.T, when, message string) {
	t.Helper()
	kit.Eventually(t, time.Minute, when, func(ctx context.Context) error {
		o, err := clusterOperator(ctx)
		if err != nil {
			return err
		}
		for _, c := range o.Status.Conditions {
			if c.Type == configv1.OperatorProgressing && (c.Status == configv1.ConditionTrue) == (message != "") && strings.Contains(c.Message, message) {
				return nil
			}
		}
		return fmt.Errorf("ClusterOperator network has %+v", o.Status.Conditions)
	})
}
