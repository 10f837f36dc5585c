package openshift

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const (
	multusNamespace = "openshift-multus"
	allowlist       = "cni-sysctl-allowlist"
	// multusImage is the variable of the operator's environment that names the image which installs the list; any with a shell is sufficient.
	multusImage = "MULTUS_IMAGE"
)

// nodesHave checks the file of every node.
func nodesHave(want string) func(context.Context) error {
	return func(ctx context.Context) error {
		nodes := &corev1.NodeList{}
		if err := lab.Client.List(ctx, nodes); err != nil {
			return err
		}
		for i := range nodes.Items {
			got, err := lab.Lab(ctx, "exec", nodes.Items[i].Name, "--", "cat", "/etc/cni/tuning/allowlist.conf")
			if err != nil {
				return err
			}
			if strings.TrimSpace(got) != strings.TrimSpace(want) {
				return fmt.Errorf("%s has %q", nodes.Items[i].Name, got)
			}
		}
		return nil
	}
}

func writeAllowlist(t *testing.T, list string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: multusNamespace, Name: allowlist}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"allowlist.conf":%q}}`, list))
	if err := lab.Client.Patch(t.Context(), cm, patch); err != nil {
		t.Fatal(err)
	}
}

// A list of sysctls is installed on every node, an invalid one is not, and a deleted list is replaced with the default one.
func TestTheAllowlistOfSysctlsIsOnEveryNode(t *testing.T) {
	kit.Full(t)
	setEnvironment(t, multusImage, kit.Agnhost)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: multusNamespace}}
	err := lab.Client.Create(t.Context(), namespace)
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	if err == nil {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := lab.Client.Delete(ctx, namespace); err != nil {
				t.Error(err)
			}
		})
	}
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: multusNamespace, Name: allowlist}
	kit.Eventually(t, time.Minute, "the list exists", func(ctx context.Context) error { return lab.Client.Get(ctx, key, cm) })
	standard := cm.Data["allowlist.conf"]

	// With all characters that a shell or Kubernetes could interpret.
	const custom = "^net.ipv4.conf.IFNAME.rp_filter$\n^a$(HOME)$$ \"b\" 'c' \\d$"
	writeAllowlist(t, custom)
	kit.Eventually(t, 2*time.Minute, "every node has it", nodesHave(custom))
	if _, err := lab.Lab(t.Context(), "exec", "worker-0", "--", "sh", "-c", "echo hers >/etc/cni/tuning/allowlist.conf"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "a changed file on a node is replaced", nodesHave(custom))

	writeAllowlist(t, "^wrong($")
	kit.Eventually(t, time.Minute, "an invalid list is reported", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "SysctlAllowlistDegraded", "True", "InvalidAllowlist", "line 1")
	})
	if err := lab.HasCondition(t.Context(), "Degraded", "False", "AsExpected"); err != nil {
		t.Errorf("the network is affected: %v", err)
	}
	if err := nodesHave(custom)(t.Context()); err != nil {
		t.Errorf("nodes do not keep the previous list: %v", err)
	}

	if err := lab.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: multusNamespace, Name: allowlist}}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 2*time.Minute, "every node has the default list", nodesHave(standard))
	kit.Eventually(t, time.Minute, "the DaemonSet is deleted", func(ctx context.Context) error {
		ds := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}}
		err := lab.Client.Get(ctx, client.ObjectKey{Namespace: multusNamespace, Name: allowlist + "-ds"}, ds)
		if err == nil {
			return errors.New("it is there")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	settled(t)
}
