package operator

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// fakeNetwork is a small provider that behaves: it takes its MTU from the nodes, refuses to change its backend,
// and renders a namespace, a few ConfigMaps and a DaemonSet.
type fakeNetwork struct {
	// hostMTU makes the default MTU that of the nodes.
	hostMTU bool
	// more is how many more ConfigMaps are rendered, which never change.
	more int
}

const (
	fakeNamespace = "fake-network"
	fakeAgent     = "fake-agent"
	fakeMaps      = 4
)

func (f fakeNetwork) Traits() provider.Traits {
	return provider.Traits{Type: operatorv1.NetworkTypeFlannel, HostPrefix: true, HostMTU: f.hostMTU, ServiceProxy: true}
}

func (fakeNetwork) Validate(spec *operatorv1.NetworkSpec) field.ErrorList {
	if c := spec.DefaultNetwork.FlannelConfig; c != nil && c.Interface == "wrong" {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "defaultNetwork", "flannelConfig", "interface"), c.Interface, "is wrong; leave it out")}
	}
	return nil
}

func (fakeNetwork) Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	if out.DefaultNetwork.FlannelConfig == nil {
		out.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
	}
	c := out.DefaultNetwork.FlannelConfig
	if c.Backend == "" {
		c.Backend = operatorv1.FlannelBackendHostGW
	}
	if c.MTU == nil && prev != nil && prev.DefaultNetwork.FlannelConfig != nil {
		c.MTU = prev.DefaultNetwork.FlannelConfig.MTU
	}
	if c.MTU == nil {
		mtu := uint32(f.HostMTU)
		c.MTU = &mtu
	}
	return out
}

func (fakeNetwork) Fields() []provider.Field { return nil }

func (fakeNetwork) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	a, b := prev.DefaultNetwork.FlannelConfig, next.DefaultNetwork.FlannelConfig
	if a.Backend != b.Backend {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "defaultNetwork", "flannelConfig", "backend"), b.Backend, "cannot be changed")}
	}
	return nil
}

func (f fakeNetwork) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	return fakeRenderer{f.more}, nil
}

type fakeRenderer struct{ more int }

func (r fakeRenderer) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	c := spec.DefaultNetwork.FlannelConfig
	labels := map[string]string{"app": fakeAgent}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fakeNamespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: fakeAgent}},
		&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: fakeAgent},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: corev1.PodSpec{ServiceAccountName: fakeAgent, Containers: []corev1.Container{{
						Name: "agent", Image: "agent:" + strings.TrimPrefix(f.ReleaseVersion, "v"), Args: []string{"--interface=" + c.Interface}}}},
				},
			},
		},
	}
	for i := range r.more {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: fmt.Sprintf("constant-%d", i)},
			Data:       map[string]string{"all": "the same"},
		})
	}
	for i := range fakeMaps {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: fmt.Sprintf("config-%d", i)},
			Data:       map[string]string{"backend": string(c.Backend), "interface": c.Interface, "mtu": fmt.Sprint(*c.MTU)},
		})
	}
	out := provider.Output{MTU: int(*c.MTU)}
	for _, o := range objects {
		object, err := manifest.New(o, manifest.Policy{})
		if err != nil {
			return out, err
		}
		out.Objects = append(out.Objects, object)
	}
	return out, nil
}

func fakeRegistry(hostMTU bool) pipeline.Registry {
	return pipeline.Registry{Providers: []provider.Provider{fakeNetwork{hostMTU: hostMTU}}}
}
