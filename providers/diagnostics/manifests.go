package diagnostics

import (
	"embed"
	"fmt"
	"io/fs"

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

// renderer is what was observed.
type renderer struct {
	enabled, served bool
	said            configv1.NetworkDiagnostics
}

// Render makes the objects of sources and targets, in the order in which to apply them; none if they are not wanted.
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
	var out list
	add[corev1.Namespace](&out, "namespace", nil)
	add[corev1.ServiceAccount](&out, "serviceaccount", nil)
	add[rbacv1.ClusterRole](&out, "clusterrole", nil)
	add[rbacv1.ClusterRoleBinding](&out, "clusterrolebinding", nil)
	add[rbacv1.RoleBinding](&out, "rolebinding", nil)
	add[corev1.Service](&out, "service-source", nil)
	add[corev1.Service](&out, "service-target", nil)
	add(&out, "daemonset", func(d *appsv1.DaemonSet) {
		place(&d.Spec.Template.Spec, target, r.said.TargetPlacement.NodeSelector, r.said.TargetPlacement.Tolerations)
	})
	add(&out, "deployment", func(d *appsv1.Deployment) {
		d.Spec.Replicas = &replicas
		main := &d.Spec.Template.Spec.Containers[0]
		main.Args = append(main.Args, f.TLS.Flags()...)
		place(&d.Spec.Template.Spec, source, r.said.SourcePlacement.NodeSelector, r.said.SourcePlacement.Tolerations)
	})
	return provider.Output{Objects: out.objects}, out.err
}

// image is the one that a variable names, or else the operator's own.
func image(images facts.Images, variable string) (string, error) {
	if ref := images[variable]; ref != "" {
		return ref, nil
	}
	return images.Get(OwnImageVariable, "connectivity checks (or "+variable+")")
}

// place says what runs where. What the user says of a place takes the place of the default.
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

// list collects objects up to the first error.
type list struct {
	objects []manifest.Object
	err     error
}

// add adds an asset, changed by set if that is not nil. Nothing waits for any of them.
func add[T any, P interface {
	*T
	manifest.Typed
}](l *list, asset string, set func(P)) {
	if l.err != nil {
		return
	}
	obj, err := manifest.Decode[T](fs.FS(assets), "assets/"+asset+".yaml")
	if err != nil {
		l.err = fmt.Errorf("render diagnostics: %w", err)
		return
	}
	if set != nil {
		set(P(obj))
	}
	o, err := manifest.New(P(obj), manifest.Policy{NonCritical: true})
	if err != nil {
		l.err = fmt.Errorf("render diagnostics: %w", err)
		return
	}
	l.objects = append(l.objects, o)
}
