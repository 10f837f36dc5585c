package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/status"
)

// operatorFindings reports an operator that does not work. Its published conditions may then be out of date.
func operatorFindings(f *collected, namespace string, now time.Time) []Finding {
	what := "the operator does not work: nothing is repaired, and the published state may be out of date"
	key := namespace + "/" + status.OperatorDeployment
	deployment, read := f.named(namespace+"/deployments", status.OperatorDeployment)
	if !read {
		return nil // listed as not whole
	}
	if deployment == nil {
		return []Finding{{Critical, what, "Deployment " + key + " does not exist", "install the operator: kubectl apply -k config/default"}}
	}
	if replicas, set, _ := unstructured.NestedInt64(deployment, "spec", "replicas"); set && replicas == 0 {
		return []Finding{{Critical, what, "Deployment " + key + " is scaled to 0", fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=1", namespace, status.OperatorDeployment)}}
	}
	if available, _, _ := unstructured.NestedInt64(deployment, "status", "availableReplicas"); available == 0 {
		return []Finding{{Critical, what, "Deployment " + key + " has no available pod" + podCauses(f.objects[namespace+"/pods"], now), fmt.Sprintf("kubectl -n %s describe pods; their logs are in the archive", namespace)}}
	}
	if f.lease == nil {
		return nil // listed as not whole
	}
	last := status.Renewed(f.lease)
	switch {
	case last.IsZero():
		return []Finding{{Critical, what, fmt.Sprintf("no replica holds Lease %s/%s", namespace, status.LeaseName), fmt.Sprintf("kubectl -n %s logs deployment/%s shows why none can take it", namespace, status.OperatorDeployment)}}
	case now.Sub(last) > status.LeaseStale:
		return []Finding{{Critical, what, fmt.Sprintf("Lease %s/%s was last renewed at %s", namespace, status.LeaseName, last.UTC().Format(time.RFC3339)),
			fmt.Sprintf("kubectl -n %s logs deployment/%s shows why; then kubectl -n %[1]s rollout restart deployment/%[2]s", namespace, status.OperatorDeployment)}}
	}
	return nil
}

// isSpare reports whether the operator's Deployment lacks only replicas for which there is no further control-plane node, while one
// works: their host ports require different nodes.
func isSpare(f *collected, namespace string, nodes []map[string]any) bool {
	deployment, _ := f.named(namespace+"/deployments", status.OperatorDeployment)
	desired, available, _ := counts("deployments", deployment)
	places := int64(0)
	for _, o := range nodes {
		labels := (&unstructured.Unstructured{Object: o}).GetLabels()
		_, controlPlane := labels["node-role.kubernetes.io/control-plane"]
		_, master := labels["node-role.kubernetes.io/master"]
		if controlPlane || master {
			places++
		}
	}
	return places > 0 && places < desired && available == places
}

// scheduled returns the pods that have a node.
func scheduled(objects []map[string]any) []map[string]any {
	return slices.DeleteFunc(slices.Clone(objects), func(o map[string]any) bool {
		node, _, _ := unstructured.NestedString(o, "spec", "nodeName")
		return node == "" && strings.HasPrefix(name(o), status.OperatorDeployment+"-")
	})
}

// readLease reads the operator's lease. One that does not exist counts as never renewed.
func (c *collector) readLease(ctx context.Context, found *collected) {
	lease, err := c.typed.CoordinationV1.Leases(c.namespace).Get(ctx, status.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease, err = &coordinationv1.Lease{}, nil
	}
	if err != nil {
		found.miss(fmt.Sprintf("Lease %s/%s", c.namespace, status.LeaseName), err)
		return
	}
	found.lease = lease
}

// podCauses returns the problem of the first pod that is not ready, as the end of a sentence.
func podCauses(pods []map[string]any, now time.Time) string {
	for _, o := range pods {
		if p, failing := failingPod(o, now); failing {
			return ": " + podProblem{p.Problem, p.Detail}.text()
		}
	}
	return ""
}

// named returns an object of a section; nil if it does not exist. read is false if the section was not read.
func (f *collected) named(section, object string) (o map[string]any, read bool) {
	all, read := f.objects[section]
	if i := slices.IndexFunc(all, func(o map[string]any) bool { return name(o) == object }); i >= 0 {
		o = all[i]
	}
	return o, read
}
