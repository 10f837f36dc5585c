package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// servicesCacheTime is how long the facts about Services are cached, since they are not watched.
const servicesCacheTime = time.Minute

// Objects that show the API server's Service CIDRs.
const (
	serviceCIDRName = "kubernetes"
	serviceName     = "kubernetes"
)

// Labels of components that serve Services, and the namespace of static pods.
const (
	labelApp        = "k8s-app"
	labelComponent  = "component"
	kubeProxyName   = "kube-proxy"
	appCilium       = "cilium"
	appKubeRouter   = "kube-router"
	systemNamespace = "kube-system"
)

// ReadServices reads the facts about Services.
func ReadServices(ctx context.Context, r client.Reader) (facts.Services, error) {
	var s facts.Services
	var err error
	if s.CIDRs, err = serviceCIDRs(ctx, r); err != nil {
		return s, err
	}
	if len(s.CIDRs) == 0 {
		if s.Address, err = serviceAddress(ctx, r); err != nil {
			return s, err
		}
	}
	s.Proxies, err = serviceProxies(ctx, r)
	return s, err
}

// serviceCIDRs reads the API server's ServiceCIDR. It does not exist before Kubernetes 1.33.
func serviceCIDRs(ctx context.Context, r client.Reader) ([]netip.Prefix, error) {
	var s networkingv1.ServiceCIDR
	err := r.Get(ctx, client.ObjectKey{Name: serviceCIDRName}, &s)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ServiceCIDR %s: %w", serviceCIDRName, err)
	}
	var all []netip.Prefix
	for _, text := range s.Spec.CIDRs {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("read ServiceCIDR %s: %w", serviceCIDRName, err)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// serviceAddress reads the address of the API server's Service; the invalid address if there is none.
func serviceAddress(ctx context.Context, r client.Reader) (netip.Addr, error) {
	var s corev1.Service
	if err := r.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: serviceName}, &s); err != nil {
		if apierrors.IsNotFound(err) {
			return netip.Addr{}, nil
		}
		return netip.Addr{}, fmt.Errorf("read Service %s/%s: %w", corev1.NamespaceDefault, serviceName, err)
	}
	a, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil {
		return netip.Addr{}, nil // a headless Service has no address
	}
	return a, nil
}

// serviceProxies returns the components that serve Services, except this operator's kube-proxy, whose objects lack these labels. DaemonSets
// without desired pods are ignored.
func serviceProxies(ctx context.Context, r client.Reader) ([]string, error) {
	var found []string
	apps, err := labels.NewRequirement(labelApp, selection.In, []string{kubeProxyName, appCilium, appKubeRouter})
	if err != nil {
		return nil, fmt.Errorf("select DaemonSets: %w", err)
	}
	var sets appsv1.DaemonSetList
	if err := r.List(ctx, &sets, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*apps)}); err != nil {
		return nil, fmt.Errorf("list DaemonSets that serve Services: %w", err)
	}
	for i := range sets.Items {
		d := &sets.Items[i]
		serves, err := servesServices(ctx, r, d)
		if err != nil {
			return nil, err
		}
		if serves && d.Status.DesiredNumberScheduled > 0 {
			found = append(found, fmt.Sprintf("DaemonSet %s/%s", d.Namespace, d.Name))
		}
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(systemNamespace), client.MatchingLabels{labelComponent: kubeProxyName}, client.Limit(1)); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", kubeProxyName, err)
	}
	if len(pods.Items) > 0 {
		found = append(found, fmt.Sprintf("static pods %s in %s", kubeProxyName, systemNamespace))
	}
	return found, nil
}

// servesServices reports whether a DaemonSet is configured to serve Services.
func servesServices(ctx context.Context, r client.Reader, d *appsv1.DaemonSet) (bool, error) {
	switch d.Labels[labelApp] {
	case appCilium:
		var cm corev1.ConfigMap
		if err := r.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: "cilium-config"}, &cm); err != nil {
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return false, fmt.Errorf("read the configuration of cilium: %w", err)
		}
		return slices.Contains([]string{"true", "strict"}, cm.Data["kube-proxy-replacement"]), nil
	case appKubeRouter:
		return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
			return slices.Contains(c.Args, "--run-service-proxy=true")
		}), nil
	}
	return true, nil
}

// servicesCache caches the facts about Services. Several controllers use it.
type servicesCache struct {
	sync.Mutex
	services facts.Services
	at       time.Time
}

// withoutKubeProxy reports whether a specification disables kube-proxy.
func withoutKubeProxy(spec *operatorv1.NetworkSpec) bool {
	return spec.DeployKubeProxy != nil && !*spec.DeployKubeProxy
}
