package networkconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/applied"
)

const (
	// appliedDefault is the ConfigMap whose deletion forces a pending change of the NetworkConfig.
	appliedDefault = "applied-default"
	// claimAnnotation marks the record of the applied network after appliedDefault was created for it. If appliedDefault is missing then, a
	// user has deleted it.
	claimAnnotation = "networkoperator.openshift.io/claimed-by-networkconfig"
)

// ensureClaim ensures that the ConfigMap applied-default exists with the content of the record. If a user has deleted it, the record is
// deleted, too, which forces the change.
func (c *Controller) ensureClaim(ctx context.Context) error {
	record, err := c.configMap(ctx, applied.ConfigMapName)
	if err != nil || record == nil {
		return err // nothing is applied yet
	}
	own, err := c.configMap(ctx, appliedDefault)
	if err != nil {
		return err
	}
	_, isClaimed := record.Annotations[claimAnnotation]
	if own == nil && isClaimed {
		c.Log.Warn("ConfigMap applied-default was deleted: a pending change is forced")
		if err := c.Client.Delete(ctx, record, client.Preconditions{UID: &record.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete record of the applied network: %w", err)
		}
		return nil
	}
	if want := record.Data[applied.KeyApplied]; want != "" && (own == nil || own.Data[applied.KeyApplied] != want) {
		cm := corev1ac.ConfigMap(appliedDefault, c.Namespace).WithData(map[string]string{applied.KeyApplied: want})
		if err := c.Client.Apply(ctx, cm, fieldManager, client.ForceOwnership); err != nil {
			return fmt.Errorf("write ConfigMap %s: %w", appliedDefault, err)
		}
	} else if want == "" {
		return nil
	}
	if isClaimed {
		return nil
	}
	return c.mark(ctx, record, corev1ac.ConfigMap(record.Name, c.Namespace).WithUID(record.UID).WithAnnotations(map[string]string{claimAnnotation: "true"}))
}

// release undoes ensureClaim if there is no NetworkConfig. The mark is removed first, because alone it would mean that a user has deleted
// the ConfigMap.
func (c *Controller) release(ctx context.Context) error {
	record, err := c.configMap(ctx, applied.ConfigMapName)
	if err != nil {
		return err
	}
	if record != nil {
		if _, isClaimed := record.Annotations[claimAnnotation]; isClaimed {
			if err := c.mark(ctx, record, corev1ac.ConfigMap(record.Name, c.Namespace).WithUID(record.UID)); err != nil {
				return err
			}
		}
	}
	own, err := c.configMap(ctx, appliedDefault)
	if err != nil || own == nil {
		return err
	}
	if err := c.Client.Delete(ctx, own); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ConfigMap %s: %w", appliedDefault, err)
	}
	return nil
}

// mark applies the mark on the record. The UID prevents the creation of a deleted record.
func (c *Controller) mark(ctx context.Context, record *corev1.ConfigMap, with *corev1ac.ConfigMapApplyConfiguration) error {
	if err := c.Client.Apply(ctx, with, fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("mark ConfigMap %s: %w", record.Name, err)
	}
	return nil
}

// configMap reads a ConfigMap in the operator's namespace; nil if it does not exist.
func (c *Controller) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	var cm corev1.ConfigMap
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	if err != nil {
		return nil, nil
	}
	return &cm, nil
}
