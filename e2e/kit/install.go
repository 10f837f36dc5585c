package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Names of the installed objects.
const (
	OperatorNamespace = status.OperatorNamespace
	FlannelNamespace  = "openshift-flannel"
	ProxyNamespace    = "openshift-kube-proxy"
	// DiagnosticsNamespace has the connectivity checks, their sources and their targets.
	DiagnosticsNamespace = "openshift-network-diagnostics"
	// OperatorDeployment is the Deployment of the operator, in its namespace.
	OperatorDeployment = status.OperatorDeployment
)

// Installation returns the path of the directory config that installs the operator.
func (k *Kit) Installation() string {
	if k.Overlay != "" {
		if dir := filepath.Join(k.Overlay, "config"); isDirectory(dir) {
			return dir
		}
	}
	return filepath.Join(k.Root, "config")
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// InstallOperator applies config/lab.
func (k *Kit) InstallOperator(ctx context.Context) error { return k.InstallFrom(ctx, "lab") }

// ReinstallOperator is InstallOperator after an uninstallation. It first deletes all certificate requests: a node may have a few within an hour, as many as
// an administrator's installations need, and not those of a suite.
func (k *Kit) ReinstallOperator(ctx context.Context) error {
	if _, err := k.Kubectl(ctx, "delete", "certificatesigningrequests", "--all"); err != nil {
		return err
	}
	return k.InstallOperator(ctx)
}

// InstallFrom applies a directory of config that installs the operator.
func (k *Kit) InstallFrom(ctx context.Context, directory string) error {
	_, err := k.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join(k.Installation(), directory))
	if err != nil {
		return err
	}
	_, err = k.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=30s",
		"crd/networks.operator.openshift.io", "crd/networkconfigs.networkoperator.openshift.io")
	return err
}

// ForNodesOfALab changes an operator that was not installed from config/lab as that does: the nodes of a lab are network namespaces of one machine, whose
// table of connections kube-proxy cannot size from there.
func (k *Kit) ForNodesOfALab(ctx context.Context) error {
	_, err := k.Kubectl(ctx, "-n", OperatorNamespace, "set", "env", "deployment/"+OperatorDeployment, "KUBE_PROXY_KEEP_CONNTRACK_MAX=true")
	return err
}

// Sample returns the content of a file of config/samples.
func (k *Kit) Sample(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(k.Root, "config/samples", name))
	return string(data), err
}

// ApplySample applies a file of config/samples.
func (k *Kit) ApplySample(ctx context.Context, name string) error {
	sample, err := k.Sample(name)
	if err != nil {
		return err
	}
	_, err = k.KubectlInput(ctx, sample, "apply", "-f", "-")
	return err
}

// Network returns Network/cluster.
func (k *Kit) Network(ctx context.Context) (*operatorv1.Network, error) {
	n := &operatorv1.Network{}
	return n, k.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, n)
}

// Condition returns a condition of Network/cluster; the zero value if there is none.
func Condition(n *operatorv1.Network, conditionType string) osv1.OperatorCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return osv1.OperatorCondition{}
}

// Settled returns nil if Network/cluster is available, not progressing and not degraded, its status is that of the current
// generation, and the operator has recorded that the rollout is complete. Otherwise the error names the first condition that is not met.
func (k *Kit) Settled(ctx context.Context) error {
	n, err := k.Network(ctx)
	if err != nil {
		return err
	}
	if n.Status.ObservedGeneration != n.Generation {
		return fmt.Errorf("status has observedGeneration %d, want %d", n.Status.ObservedGeneration, n.Generation)
	}
	var unmet []string
	for _, want := range []struct {
		condition string
		status    osv1.ConditionStatus
	}{{"Available", osv1.ConditionTrue}, {"Progressing", osv1.ConditionFalse}, {"Degraded", osv1.ConditionFalse}} {
		if c := Condition(n, want.condition); c.Status != want.status {
			unmet = append(unmet, fmt.Sprintf("%s=%s (%s: %s)", want.condition, c.Status, c.Reason, c.Message))
		}
	}
	if len(unmet) > 0 {
		return fmt.Errorf("network: %s", strings.Join(unmet, "; "))
	}
	return k.confirmed(ctx)
}

// confirmed returns nil unless the operator has not yet recorded the rollout as complete, which it does after it sets the conditions.
func (k *Kit) confirmed(ctx context.Context) error {
	record := &corev1.ConfigMap{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: applied.ConfigMapName}, record)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	r, err := applied.Decode(record.Data)
	if err == nil && r.Settling {
		err = errors.New("the operator has not recorded the rollout as complete yet")
	}
	return err
}

// NodesReady returns nil if there are nodes and all are Ready. Otherwise the error names those that are not.
func (k *Kit) NodesReady(ctx context.Context) error {
	nodes := &corev1.NodeList{}
	if err := k.Client.List(ctx, nodes); err != nil {
		return err
	}
	var notReady []string
	for _, n := range nodes.Items {
		if !IsReady(&n) {
			notReady = append(notReady, n.Name)
		}
	}
	if len(notReady) > 0 || len(nodes.Items) == 0 {
		return fmt.Errorf("of %d nodes, not ready: %s", len(nodes.Items), strings.Join(notReady, ", "))
	}
	return nil
}

// WaitSettled waits until the network is settled and all nodes are ready.
func (k *Kit) WaitSettled(ctx context.Context, limit time.Duration) error {
	return Poll(ctx, limit, func(ctx context.Context) error {
		if err := k.Settled(ctx); err != nil {
			return err
		}
		return k.NodesReady(ctx)
	})
}

// OperatorRuns returns nil if the current revision of the operator's Deployment is available.
func (k *Kit) OperatorRuns(ctx context.Context) error {
	d := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}
	if err := k.Client.Get(ctx, key, d); err != nil {
		return err
	}
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.UpdatedReplicas == 0 || s.AvailableReplicas < s.UpdatedReplicas || s.Replicas > s.UpdatedReplicas {
		return fmt.Errorf("the operator is not available: of %d pods, %d are new and %d available", s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
	}
	return nil
}
