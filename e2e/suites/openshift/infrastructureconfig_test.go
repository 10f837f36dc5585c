package openshift

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func infrastructure(ctx context.Context) (*configv1.Infrastructure, error) {
	i := &configv1.Infrastructure{}
	return i, lab.Client.Get(ctx, client.ObjectKey{Name: "cluster"}, i)
}

// replaceInfrastructure replaces the object with one of another platform, since the API does not permit a change of the platform.
func replaceInfrastructure(ctx context.Context, spec configv1.InfrastructureSpec, status configv1.InfrastructureStatus) error {
	i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	if err := lab.Client.Delete(ctx, i); client.IgnoreNotFound(err) != nil {
		return err
	}
	i = &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: spec}
	if err := lab.Client.Create(ctx, i); err != nil {
		return err
	}
	before := i.DeepCopy()
	i.Status = status
	return lab.Client.Status().Patch(ctx, i, client.MergeFrom(before)) // the operator may write the object meanwhile
}

// TestInfrastructureOfBareMetalIsSynced tests that an earlier release's object gets defaults, that addresses of a second family
// are copied to the status, and that the first address cannot change.
func TestInfrastructureOfBareMetalIsSynced(t *testing.T) {
	before, err := infrastructure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := replaceInfrastructure(context.Background(), before.Spec, before.Status); err != nil {
			t.Error(err)
		}
	})
	status := *before.Status.DeepCopy()
	status.Platform = configv1.BareMetalPlatformType
	status.PlatformStatus = &configv1.PlatformStatus{Type: configv1.BareMetalPlatformType, BareMetal: &configv1.BareMetalPlatformStatus{APIServerInternalIP: "10.89.0.5", IngressIP: "10.89.0.4"}}
	if err := replaceInfrastructure(t.Context(), configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: configv1.BareMetalPlatformType}}, status); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the specification is filled in", func(ctx context.Context) error {
		i, err := infrastructure(ctx)
		if s := i.Spec.PlatformSpec.BareMetal; err == nil && (s == nil || len(s.APIServerInternalIPs) != 1 || len(s.IngressIPs) != 1) {
			return fmt.Errorf("it is %+v", s)
		}
		return err
	})
	edit := func(api, ingress string) {
		t.Helper()
		patch := fmt.Sprintf(`{"spec":{"platformSpec":{"baremetal":{"apiServerInternalIPs":[%s],"ingressIPs":[%s]}}}}`, api, ingress)
		if _, err := lab.Kubectl(t.Context(), "patch", "infrastructure", "cluster", "--type=merge", "-p", patch); err != nil {
			t.Fatal(err)
		}
	}
	statusHas := func(first string, number int) func(context.Context) error {
		return func(ctx context.Context) error {
			i, err := infrastructure(ctx)
			if got := i.Status.PlatformStatus.BareMetal.APIServerInternalIPs; err == nil && (len(got) != number || got[0] != first) {
				return fmt.Errorf("the status has %v", got)
			}
			return err
		}
	}
	edit(`"10.89.0.5","fd00:89::5"`, `"10.89.0.4","fd00:89::4"`)
	kit.Eventually(t, time.Minute, "the status has the second family", statusHas("10.89.0.5", 2))
	edit(`"10.89.0.6"`, `"10.89.0.4"`)
	kit.Eventually(t, time.Minute, "another first address is refused", func(ctx context.Context) error {
		o, err := clusterOperator(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(o.Status.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool {
			return c.Type == configv1.OperatorDegraded && c.Status == configv1.ConditionTrue && strings.Contains(c.Message, "first VIP cannot be modified")
		}) {
			err = fmt.Errorf("ClusterOperator network has %+v", o.Status.Conditions)
		}
		return errors.Join(err, statusHas("10.89.0.5", 2)(ctx))
	})
	edit(`"10.89.0.5"`, `"10.89.0.4"`)
	kit.Eventually(t, time.Minute, "the status has the restored addresses", statusHas("10.89.0.5", 1))
	kit.Eventually(t, time.Minute, "the ClusterOperator reports no problem", clusterOperatorSettled)
}
