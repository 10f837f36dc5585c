package operator

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
)

const (
	fakeNamespace = "fake-network"
	fakeAgent     = "fake-agent"
	fakeMaps      = 4
)

// fakeNetwork returns a network with fakeObjects. With hostMTU its MTU is that of the nodes by default.
func fakeNetwork(hostMTU bool) fakeprovider.Network {
	return fakeprovider.Network{
		With:    provider.Traits{Type: operatorv1.NetworkTypeFlannel, HostPrefix: true, HostMTU: hostMTU, ServiceProxy: true},
		Objects: fakeObjects,
	}
}

// fakeObjects returns a namespace, a ServiceAccount, a DaemonSet, and a few ConfigMaps with the settings.
func fakeObjects(spec *operatorv1.NetworkSpec, f facts.Cluster) ([]manifest.Object, error) {
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
	for i := range fakeMaps {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: fakeNamespace, Name: fmt.Sprintf("config-%d", i)},
			Data:       map[string]string{"backend": string(c.Backend), "interface": c.Interface, "mtu": fmt.Sprint(*c.MTU)},
		})
	}
	var out []manifest.Object
	for _, o := range objects {
		object, err := manifest.New(o, manifest.Policy{})
		if err != nil {
			return out, err
		}
		out = append(out, object)
	}
	return out, nil
}

func fakeRegistry(hostMTU bool) pipeline.Registry {
	return pipeline.Registry{Providers: []provider.Provider{fakeNetwork(hostMTU)}}
}
