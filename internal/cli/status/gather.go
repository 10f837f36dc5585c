package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	decided "github.com/cluster-network-operator/cno/internal/status"
)

// clusterOperatorName is the name of the operator's ClusterOperator.
const clusterOperatorName = "network"

// open creates a client for a cluster and the clock of its API server.
func open(config *rest.Config, now func() time.Time) (client.Reader, *kubeconfig.Clock, error) {
	config = rest.CopyConfig(config)
	clock := kubeconfig.NewClock(config, now)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, operatorv1.AddToScheme, configv1.Install} {
		if err := add(scheme); err != nil {
			return nil, nil, fmt.Errorf("create scheme: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("create client: %w", err)
	}
	return c, clock, nil
}

// gather reads the existing objects. Objects whose API is unavailable count as absent; those that the user has no permission
// to read are listed in unreadable. The network itself must be readable.
func gather(ctx context.Context, c client.Reader, namespace string) (found, error) {
	f := found{namespace: namespace}
	network := &operatorv1.Network{}
	if exists, err := f.get(ctx, c, client.ObjectKey{Name: operatorv1.NetworkName}, network); err != nil {
		return f, fmt.Errorf("read network: %w", err)
	} else if exists {
		f.network = network
	}
	var errs [6]error
	operator, lease, own, cluster := &appsv1.Deployment{}, &coordinationv1.Lease{}, &corev1.ConfigMap{}, &configv1.ClusterOperator{}
	var exists bool
	if exists, errs[0] = f.get(ctx, c, client.ObjectKey{Namespace: namespace, Name: decided.OperatorDeployment}, operator); exists {
		f.operator = operator
	}
	if exists, errs[1] = f.get(ctx, c, client.ObjectKey{Namespace: namespace, Name: decided.LeaseName}, lease); exists {
		f.lease = lease
	}
	if exists, errs[2] = f.get(ctx, c, client.ObjectKey{Namespace: namespace, Name: decided.ConfigMapName}, own); exists {
		f.data = own.Data
	}
	published := &corev1.ConfigMap{}
	if exists, errs[3] = f.get(ctx, c, client.ObjectKey{Namespace: namespace, Name: facts.ConfigMapName}, published); exists {
		if known, err := facts.Published(published.Data); err == nil {
			f.release = known.ReleaseVersion
		}
	}
	if f.network != nil && pipeline.Omits(&f.network.Spec) {
		record := &corev1.ConfigMap{}
		if exists, errs[5] = f.get(ctx, c, client.ObjectKey{Namespace: namespace, Name: applied.ConfigMapName}, record); exists {
			f.recorded = applied.SpecOf(record.Data)
		}
	}
	if exists, errs[4] = f.get(ctx, c, client.ObjectKey{Name: clusterOperatorName}, cluster); exists {
		f.clusterOperator = cluster
	}
	return f, errors.Join(errs[:]...)
}

// get reads an object; false if it does not exist or the user may not read it.
func (f *found) get(ctx context.Context, c client.Reader, key client.ObjectKey, o client.Object) (bool, error) {
	err := c.Get(ctx, key, o)
	_, isNetwork := o.(*operatorv1.Network)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return false, nil
	case apierrors.IsForbidden(err) && !isNetwork:
		if _, optional := o.(*configv1.ClusterOperator); !optional {
			f.unreadable = append(f.unreadable, fmt.Sprintf("%s %s", kindOf(o), key))
		}
		return false, nil
	default:
		return false, fmt.Errorf("read %s: %w", key.Name, err)
	}
}

// kindOf returns the kind of an object that is read in addition to the network.
func kindOf(o client.Object) string {
	switch o.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *coordinationv1.Lease:
		return "Lease"
	default:
		return "ConfigMap"
	}
}
