package openshift

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestChangedTLSProfileRestartsTheOperator tests that the operator shuts down and restarts without a change of the network. Only the
// proxies of metrics, which use the profile, are replaced.
func TestChangedTLSProfileRestartsTheOperator(t *testing.T) {
	before := networkPods(t)
	for _, profile := range []*configv1.TLSSecurityProfile{{Type: configv1.TLSProfileModernType, Modern: &configv1.ModernTLSProfile{}}, nil} {
		started := operatorStarted(t)
		o := &configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
		if err := lab.Change(t.Context(), o, func() { o.Spec.TLSSecurityProfile = profile }); err != nil {
			t.Fatal(err)
		}
		kit.Eventually(t, 2*time.Minute, "the operator starts again", func(ctx context.Context) error {
			status, err := operatorContainer(ctx)
			if err != nil {
				return err
			}
			if ended := status.LastTerminationState.Terminated; status.State.Running == nil || !status.State.Running.StartedAt.After(started) || ended == nil || ended.ExitCode != 0 {
				return fmt.Errorf("it is %+v, and was %+v", status.State, status.LastTerminationState)
			}
			return nil
		})
		kit.Eventually(t, time.Minute, "the network is as before", func(ctx context.Context) error {
			if err := lab.OperatorRuns(ctx); err != nil {
				return err
			}
			return lab.Settled(ctx)
		})
		kit.Eventually(t, time.Minute, "the proxies of metrics use the profile", func(ctx context.Context) error {
			var d appsv1.DaemonSet
			if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: kit.FlannelNamespace, Name: "flannel-metrics"}, &d); err != nil {
				return err
			}
			if args := d.Spec.Template.Spec.Containers[0].Args; slices.Contains(args, "--tls-min-version=VersionTLS13") != (profile != nil) {
				return fmt.Errorf("their arguments are %v", args)
			}
			return nil
		})
	}
	if after := networkPods(t); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("flannel's pods were %v and are %v", before, after)
	}
}

// networkPods returns the pods of flannel's agents and of its etcd.
func networkPods(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, app := range []string{"flanneld", "flannel-etcd"} {
		uids, err := lab.PodUIDs(t.Context(), kit.FlannelNamespace, client.MatchingLabels{"app": app})
		if err != nil {
			t.Fatal(err)
		}
		for _, uid := range uids {
			all = append(all, string(uid))
		}
	}
	return all
}

// operatorStarted is when the operator's container started.
func operatorStarted(t *testing.T) time.Time {
	t.Helper()
	var at time.Time
	kit.Eventually(t, time.Minute, "the operator runs", func(ctx context.Context) error {
		status, err := operatorContainer(ctx)
		if err != nil {
			return err
		}
		if status.State.Running == nil {
			return fmt.Errorf("it is %+v", status.State)
		}
		at = status.State.Running.StartedAt.Time
		return nil
	})
	return at
}

// operatorContainer returns the state of the operator's container in its one pod.
func operatorContainer(ctx context.Context) (corev1.ContainerStatus, error) {
	pods := &corev1.PodList{}
	if err := lab.Client.List(ctx, pods, client.InNamespace(kit.OperatorNamespace), client.MatchingLabels{"name": "network-operator"}); err != nil {
		return corev1.ContainerStatus{}, err
	}
	if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
		return corev1.ContainerStatus{}, fmt.Errorf("there are %d pods of the operator", len(pods.Items))
	}
	return pods.Items[0].Status.ContainerStatuses[0], nil
}
