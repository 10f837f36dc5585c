package flannel

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// hash matches the value in the operator's refusal.
var hash = regexp.MustCompile(regexp.QuoteMeta(pipeline.AcknowledgeAnnotation) + "=([0-9a-f]+)")

// acknowledge sets the acknowledgement that the operator's refusal requests on Network/cluster.
func acknowledge(ctx context.Context) error {
	message, err := degraded(ctx)
	if err != nil {
		return err
	}
	found := hash.FindStringSubmatch(message)
	if found == nil {
		return fmt.Errorf("Degraded has the message %q", message)
	}
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, pipeline.AcknowledgeAnnotation, found[1])
	return lab.Client.Patch(ctx, n, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func unserved(ctx context.Context) error {
	if message, err := degraded(ctx); err != nil || !strings.Contains(message, pipeline.RuleUnserved) {
		return fmt.Errorf("Degraded has the message %q: %w", message, err)
	}
	return nil
}

// degraded is the message of the network's condition Degraded.
func degraded(ctx context.Context) (string, error) {
	n, err := lab.Network(ctx)
	if err != nil {
		return "", err
	}
	for _, c := range n.Status.Conditions {
		if c.Type == "Degraded" {
			return c.Message, nil
		}
	}
	return "", nil
}

func TestKubeProxyIsRemovedAndDeployedByItsField(t *testing.T) {
	kit.Full(t)
	s, pods := lab.Expose(t, func(*corev1.ServiceSpec) {})
	t.Run("off", func(t *testing.T) {
		off := false
		lab.EditUnsafe(t, func(spec *operatorv1.NetworkSpec) { spec.DeployKubeProxy = &off })
		kit.Eventually(t, time.Minute, "the operator requests an acknowledgement, which is set", acknowledge)
		kit.Eventually(t, time.Minute, "kube-proxy is removed", func(ctx context.Context) error {
			err := lab.Client.Get(ctx, proxy, &appsv1.DaemonSet{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("kube-proxy still exists, or cannot be read: %w", err)
		})
		kit.Eventually(t, time.Minute, "the status reports that no component serves Services", unserved)
		if err := lab.Ping(t.Context(), pods["worker-0"], pods["worker-1"].Status.PodIP); err != nil {
			t.Errorf("pods do not reach one another without kube-proxy: %v", err)
		}
	})
	kit.Eventually(t, time.Minute, "the service answers again", func(ctx context.Context) error {
		_, err := lab.Get(ctx, pods["worker-0"], "http://"+s.Spec.ClusterIP+"/hostname")
		return err
	})
}
