package mtumigration

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// Publish writes the progress to the operator's namespace, from which the pipeline reads it. stale is true if another client has changed it
// meanwhile: the caller retries.
func Publish(ctx context.Context, c client.Client, owner client.FieldOwner, namespace string, progress facts.MTUMigration) (stale bool, err error) {
	data, err := progress.Encode()
	if err != nil {
		return false, err
	}
	cm := corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: facts.MTUMigrationConfigMap}
	switch err = c.Get(ctx, key, &cm); {
	case apierrors.IsNotFound(err):
		cm.Namespace, cm.Name, cm.Data = key.Namespace, key.Name, data
		err = c.Create(ctx, &cm, owner)
	case err != nil:
		return false, fmt.Errorf("read ConfigMap %s: %w", key, err)
	case maps.Equal(cm.Data, data):
		return false, nil
	default:
		changed := cm.DeepCopy()
		changed.Data = data
		err = c.Update(ctx, changed, owner)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("write ConfigMap %s: %w", key, err)
	}
	return false, nil
}

// Withdraw deletes the object of Publish at the end of a migration.
func Withdraw(ctx context.Context, c client.Client, namespace string) error {
	cm := corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: namespace, Name: facts.MTUMigrationConfigMap}
	err := c.Get(ctx, key, &cm)
	if err == nil {
		err = c.Delete(ctx, &cm)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ConfigMap %s: %w", key, err)
	}
	return nil
}
