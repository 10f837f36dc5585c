package install

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestUnsupportedTypeSetsAConditionAndInstallsNothing(t *testing.T) {
	kit.Full(t)
	fresh(t)
	for _, row := range []struct{ networkType, want string }{
		{"Flanel", "did you mean Flannel?"},
		{"flannell", "did you mean Flannel?"},
		{"Kuryr", "not implemented yet"},
		{"Nuage", "not implemented yet"},
		{"Contiv", "not implemented yet"},
	} {
		apply(t, strings.Replace(sample(t, "network-flannel.yaml"), "type: Flannel", "type: "+row.networkType, 1))
		kit.Eventually(t, time.Minute, row.networkType+" is refused", func(ctx context.Context) error {
			return lab.HasCondition(ctx, "Degraded", "True", "InvalidOperatorConfig", "spec.defaultNetwork.type", row.networkType, row.want)
		})
	}
	for _, name := range []string{"applied-cluster", "network-inventory"} {
		err := lab.Client.Get(t.Context(), client.ObjectKey{Namespace: kit.OperatorNamespace, Name: name}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("a refused network was applied: ConfigMap %s exists (%v)", name, err)
		}
	}
	if err := lab.HasCondition(t.Context(), "Available", "False", "Startup"); err != nil {
		t.Error(err)
	}

	apply(t, sample(t, "network-flannel.yaml"))
	settles(t)
	kit.Eventually(t, time.Minute, "the refused types leave no condition", func(ctx context.Context) error {
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		if c := kit.Condition(n, "Upgradeable"); c.Status != "True" {
			return fmt.Errorf("not upgradeable: %s", c.Message)
		}
		return nil
	})
}
