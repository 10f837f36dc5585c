package diagnostics

import (
	"embed"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

//go:embed assets/*.yaml
var assets embed.FS

// renderer is the observed state.
type renderer struct {
	enabled, served bool
	configured      configv1.NetworkDiagnostics
}

// Render returns the objects of sources and targets, in the order of application; none if checks are disabled.
func (r renderer) Render(_ *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	switch {
	case !r.enabled:
		return provider.Output{}, nil
	case !r.served:
		return provider.Output{Unavailable: unserved}, nil
	}
	source, err := image(f.Images, SourceImageVariable)
	if err != nil {
		return provider.Output{}, err
	}
	target, err := image(f.Images, TargetImageVariable)
	if err != nil {
		return provider.Output{}, err
	}
	replicas := int32(connectivity.Sources(f.NodeCount))
	out := manifest.List{Assets: assets, Policy: manifest.Policy{NonCritical: true}}
	manifest.AddAsset[corev1.Namespace](&out, "namespace", nil)
	manifest.AddAsset[corev1.ServiceAccount](&out, "serviceaccount", nil)
	manifest.AddAsset[rbacv1.ClusterRole](&out, "clusterrole", nil)
	manifest.AddAsset[rbacv1.ClusterRoleBinding](&out, "clusterrolebinding", nil)
	manifest.AddAsset[rbacv1.RoleBinding](&out, "rolebinding", nil)
	manifest.AddAsset[corev1.Service](&out, "service-source", nil)
	manifest.AddAsset[corev1.Service](&out, "service-target", nil)
	manifest.AddAsset(&out, "daemonset", func(d *appsv1.DaemonSet) {
		place(&d.Spec.Template.Spec, target, r.configured.TargetPlacement.NodeSelector, r.configured.TargetPlacement.Tolerations)
	})
	manifest.AddAsset(&out, "deployment", func(d *appsv1.Deployment) {
		d.Spec.Replicas = &replicas
		main := &d.Spec.Template.Spec.Containers[0]
		main.Args = append(main.Args, f.TLS.Flags()...)
		place(&d.Spec.Template.Spec, source, r.configured.SourcePlacement.NodeSelector, r.configured.SourcePlacement.Tolerations)
	})
	objects, err := out.Result()
	if err != nil {
		return provider.Output{}, fmt.Errorf("render diagnostics: %w", err)
	}
	return provider.Output{Objects: objects}, nil
}

// image returns the image in a variable; the operator's image if it is not set.
func image(images facts.Images, variable string) (string, error) {
	if ref := images[variable]; ref != "" {
		return ref, nil
	}
	return images.Get(OwnImageVariable, "connectivity checks (or "+variable+")")
}

// place sets the image and the placement. User settings replace the defaults.
func place(pod *corev1.PodSpec, image string, selector map[string]string, tolerations []corev1.Toleration) {
	for i := range pod.Containers {
		pod.Containers[i].Image = image
	}
	if len(selector) > 0 {
		pod.NodeSelector = selector
	}
	if len(tolerations) > 0 {
		pod.Tolerations = tolerations
	}
}
