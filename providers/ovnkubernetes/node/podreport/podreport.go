// Package podreport lets agents report to the operator with annotations of their own pods. Admission policies restrict each agent to its annotation.
package podreport

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// limit is the timeout of a request.
const limit = 10 * time.Second

// Write sets an annotation of a pod. manager is the field manager.
func Write(ctx context.Context, client kubernetes.Interface, pod, annotation, text, manager string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: text}}})
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	_, err = client.CoreV1().Pods(agentconfig.Namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		return fmt.Errorf("report to pod %s/%s: %w", agentconfig.Namespace, pod, err)
	}
	return nil
}
