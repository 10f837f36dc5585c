package status

import (
	"context"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	decided "github.com/cluster-network-operator/cno/internal/status"
)

// The names of what is read.
const (
	operatorDeployment  = "network-operator"
	clusterOperatorName = "network"
)

// open makes a client for a cluster.
func open(config *rest.Config) (client.Reader, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, operatorv1.AddToScheme, configv1.Install} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("make scheme: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}

// gather reads what there is. Kinds that are not served and what one may not see are as good as absent, but for the
// network itself.
func gather(ctx context.Context, c client.Reader, namespace string) (found, error) {
	var f found
	network := &operatorv1.Network{}
	if exists, err := get(ctx, c, client.ObjectKey{Name: operatorv1.NetworkName}, network); err != nil {
		return f, fmt.Errorf("read network: %w", err)
	} else if exists {
		f.network = network
	}
	var errs [4]error
	operator, own, cluster := &appsv1.Deployment{}, &corev1.ConfigMap{}, &configv1.ClusterOperator{}
	var exists bool
	if exists, errs[0] = get(ctx, c, client.ObjectKey{Namespace: namespace, Name: operatorDeployment}, operator); exists {
		f.operator = operator
	}
	if exists, errs[1] = get(ctx, c, client.ObjectKey{Namespace: namespace, Name: decided.ConfigMapName}, own); exists {
		f.data = own.Data
	}
	told := &corev1.ConfigMap{}
	if exists, errs[2] = get(ctx, c, client.ObjectKey{Namespace: namespace, Name: facts.ConfigMapName}, told); exists {
		if known, err := facts.Published(told.Data); err == nil {
			f.release = known.ReleaseVersion
		}
	}
	if exists, errs[3] = get(ctx, c, client.ObjectKey{Name: clusterOperatorName}, cluster); exists {
		f.clusterOperator = cluster
	}
	return f, errors.Join(errs[:]...)
}

// get reads an object, if there is one that may be seen.
func get(ctx context.Context, c client.Reader, key client.ObjectKey, o client.Object) (bool, error) {
	err := c.Get(ctx, key, o)
	_, isNetwork := o.(*operatorv1.Network)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), apierrors.IsForbidden(err) && !isNetwork:
		return false, nil
	default:
		return false, fmt.Errorf("read %s: %w", key.Name, err)
	}
}
