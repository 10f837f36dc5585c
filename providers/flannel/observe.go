package flannel

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// observed is the cluster state that Render depends on.
type observed struct {
	// offline is true without a cluster.
	offline bool
	// members is the membership as recorded by the operator's controller.
	members etcdcluster.Membership
	// current is the agents' current configuration; nil if none exists.
	current *agentconfig.Config
}

// Observe reads the membership of etcd and the agents' current configuration.
func (Flannel) Observe(ctx context.Context, r client.Reader, _ *operatorv1.NetworkSpec) (provider.Renderer, error) {
	if r == nil {
		return observed{offline: true}, nil
	}
	var o observed
	content, found, err := readKey(ctx, r, record.Etcd.MembersConfigMap(), etcdcluster.MembersKey)
	if err != nil {
		return nil, err
	}
	if found {
		if o.members, err = etcdcluster.DecodeMembership(content); err != nil {
			return nil, err
		}
	}
	if content, _, err = readKey(ctx, r, record.ConfigMap, agentKey); err != nil {
		return nil, err
	}
	// A configuration that cannot be decoded is ignored: Render replaces it.
	if config, err := agentconfig.Decode([]byte(content)); err == nil {
		o.current = &config
	}
	return o, nil
}

// readKey reads one key of a ConfigMap in flannel's namespace. found is false if the ConfigMap does not exist. A missing key is returned as empty content,
// which no decoder accepts.
func readKey(ctx context.Context, r client.Reader, name, key string) (content string, found bool, err error) {
	var cm corev1.ConfigMap
	err = r.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: name}, &cm)
	if apierrors.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read ConfigMap %s/%s: %w", record.Namespace, name, err)
	}
	return cm.Data[key], true, nil
}
