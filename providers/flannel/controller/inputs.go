package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// inputs are the inputs of a reconcile.
type inputs struct {
	etcd     etcdmanager.Inputs
	settings record.Settings
	agents   agentconfig.Config
}

// gather reads the inputs. active is false while flannel is not installed.
func (c *Controller) gather(ctx context.Context) (in inputs, active bool, err error) {
	var config corev1.ConfigMap
	key := client.ObjectKey{Namespace: record.Namespace, Name: record.ConfigMap}
	err = c.deps.Client.Get(ctx, key, &config)
	if apierrors.IsNotFound(err) || err == nil && config.DeletionTimestamp != nil {
		return in, false, nil
	}
	if err != nil {
		return in, false, fmt.Errorf("read ConfigMap %s: %w", key, err)
	}
	if in.settings, err = record.DecodeSettings(config.Data[record.SettingsKey]); err != nil {
		return in, true, err
	}
	if in.agents, err = agentconfig.Decode([]byte(config.Data[record.AgentKey])); err != nil {
		return in, true, err
	}
	in.etcd, err = c.manager.Gather(ctx, in.settings.Settings, in.agents.Etcd.Prefix)
	return in, true, err
}
