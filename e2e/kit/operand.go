package kit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Etcdctl runs etcdctl in the member of flannel's etcd on a control-plane node. It uses the member's certificate, which has root
// permissions also when etcd's authentication is enabled.
func (k *Kit) Etcdctl(ctx context.Context, node string, args ...string) (string, error) {
	n := &corev1.Node{}
	if err := k.Client.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
		return "", err
	}
	if len(n.Status.Addresses) == 0 {
		return "", fmt.Errorf("node %s has no address", node)
	}
	const tls = "/etc/flannel-etcd/tls"
	out, err := k.Kubectl(ctx, append([]string{
		"exec", "-n", FlannelNamespace, "deploy/flannel-etcd-" + node, "--", "/usr/bin/etcdctl",
		"--endpoints=https://" + n.Status.Addresses[0].Address + ":12379", "--cacert=" + tls + "/ca.crt", "--cert=" + tls + "/tls.crt", "--key=" + tls + "/tls.key",
	}, args...)...)
	return strings.TrimSpace(out), err
}

// PodUIDs returns the sorted UIDs of the pods of a namespace. The list changes when a pod is replaced.
func (k *Kit) PodUIDs(ctx context.Context, namespace string, labels map[string]string) ([]types.UID, error) {
	pods := &corev1.PodList{}
	if err := k.Client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, err
	}
	var found []types.UID
	for _, p := range pods.Items {
		found = append(found, p.UID)
	}
	slices.Sort(found)
	return found, nil
}

// Routes returns a node's routes to pods in the first IP family, as text. They depend only on the assignment of subnets to nodes.
func (k *Kit) Routes(ctx context.Context, node string) (string, error) {
	n, err := k.Network(ctx)
	if err != nil {
		return "", err
	}
	pool, family := n.Spec.ClusterNetwork[0].CIDR, "-4"
	if strings.Contains(pool, ":") {
		family = "-6"
	}
	return k.Lab(ctx, "exec", node, "--", "ip", family, "route", "show", "root", pool)
}

// HasCondition returns nil if a condition of Network/cluster has the given status and reason, and its message contains all words.
func (k *Kit) HasCondition(ctx context.Context, conditionType, status, reason string, words ...string) error {
	n, err := k.Network(ctx)
	if err != nil {
		return err
	}
	c := Condition(n, conditionType)
	missing := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(c.Message, w) })
	if string(c.Status) != status || c.Reason != reason || len(missing) > 0 {
		return fmt.Errorf("%s is %s, %s: %q; want %s, %s; the message does not contain %q", conditionType, c.Status, c.Reason, c.Message, status, reason, missing)
	}
	return nil
}

// Mesh pings every pod from every other pod, and returns an error with all failures.
func (k *Kit) Mesh(ctx context.Context, pods map[string]*corev1.Pod) error {
	var failed []string
	for _, from := range slices.Sorted(maps.Keys(pods)) {
		for to, peer := range pods {
			if err := k.Ping(ctx, pods[from], peer.Status.PodIP); err != nil {
				failed = append(failed, fmt.Sprintf("pod on %s to pod on %s: %v", from, to, err))
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "\n"))
	}
	return nil
}
