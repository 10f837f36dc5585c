package network

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/declared"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// declaring is a cluster with some of the objects that declare addresses.
type declaring struct {
	// errs are the errors of reads by the name of the object; other objects that the cluster does not have are not found.
	errs map[string]error
	// kubeadm is the configuration of kubeadm, pods those of kube-controller-manager.
	kubeadm string
	pods    []corev1.Pod
	listErr error
}

func (d declaring) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	name := o.GetObjectKind().GroupVersionKind().Kind
	if cm, ok := o.(*corev1.ConfigMap); ok {
		name = key.String()
		if d.kubeadm != "" {
			cm.Data = map[string]string{declared.KubeadmKey: d.kubeadm}
			return nil
		}
	}
	if err, ok := d.errs[name]; ok {
		return err
	}
	return apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (d declaring) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = d.pods
	return d.listErr
}

func TestDeclaredAddressesAreReadInOrder(t *testing.T) {
	const both = "networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}"
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("no"))
	down := errors.New("the server is down")
	manager := func(annotation string, arguments ...string) []corev1.Pod {
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "kcm", Annotations: map[string]string{annotation: ""}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"kube-controller-manager"}, Args: arguments}}}}}
	}
	api := facts.Services{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.97.0.0/16")}}
	const configMap = declared.KubeadmNamespace + "/" + declared.KubeadmName
	for _, row := range []struct {
		why      string
		cluster  declaring
		decision applied.Decision
		services facts.Services
		// pods and services are the networks or the error; unavailable is the reason; none means that nothing was read, fails that the error is returned.
		pods, service, unavailable string
		none, fails                bool
	}{
		{why: "a cluster that declares nothing"},
		{why: "kubeadm", cluster: declaring{kubeadm: both}, pods: "10.244.0.0/16", service: "10.96.0.0/12"},
		{why: "the Service CIDR of the API server comes first", cluster: declaring{kubeadm: both}, services: api, pods: "10.244.0.0/16", service: "10.97.0.0/16"},
		{why: "... also where kubeadm has an unusable one", cluster: declaring{kubeadm: "networking: {serviceSubnet: x}"}, services: api, service: "10.97.0.0/16"},
		{why: "kubeadm comes before the flags", cluster: declaring{kubeadm: both, pods: manager(corev1.MirrorPodAnnotationKey, "--cluster-cidr=10.1.0.0/16")}, pods: "10.244.0.0/16", service: "10.96.0.0/12"},
		{why: "the flags, where kubeadm has no network of pods", cluster: declaring{kubeadm: "networking: {serviceSubnet: 10.96.0.0/12}", pods: manager(corev1.MirrorPodAnnotationKey, "--cluster-cidr=10.1.0.0/16")},
			pods: "10.1.0.0/16", service: "10.96.0.0/12"},
		{why: "an unusable network of kubeadm is not skipped", cluster: declaring{kubeadm: "networking: {podSubnet: x}", pods: manager(corev1.MirrorPodAnnotationKey, "--cluster-cidr=10.1.0.0/16")},
			pods: declared.KubeadmPods + `: "x" is not a CIDR`},
		{why: "a pod that is not static", cluster: declaring{pods: manager("other", "--cluster-cidr=10.1.0.0/16")}},
		{why: "Network.config determines the addresses", cluster: declaring{kubeadm: both, errs: map[string]error{"Network": nil}}, none: true},
		{why: "no CRDs", cluster: declaring{kubeadm: both, errs: map[string]error{"Network": &meta.NoKindMatchError{}, "NetworkGuard": &meta.NoKindMatchError{}}}, pods: "10.244.0.0/16", service: "10.96.0.0/12"},
		{why: "a network in use, of which all records are lost", cluster: declaring{kubeadm: both, errs: map[string]error{"NetworkGuard": nil}}, unavailable: "a network is in use"},
		{why: "... or only the history is known, unreadably", cluster: declaring{kubeadm: both}, decision: applied.Forced, unavailable: "a network is in use"},
		{why: "no permission for Network.config, which may determine the addresses", cluster: declaring{kubeadm: both, errs: map[string]error{"Network": forbidden}}, unavailable: "it cannot be detected without a permission: read Network.config.openshift.io cluster"},
		{why: "no permission to see whether a network is in use", cluster: declaring{kubeadm: both, errs: map[string]error{"NetworkGuard": forbidden}}, unavailable: "it cannot be detected without a permission: read NetworkGuard.networkoperator.openshift.io cluster"},
		{why: "no permission for kubeadm's configuration", cluster: declaring{errs: map[string]error{configMap: forbidden}}, services: api, pods: declared.KubeadmPods + ": no permission to read it", service: "10.97.0.0/16"},
		{why: "no permission for the pods", cluster: declaring{listErr: forbidden}, services: api, pods: declared.ControllerManagerPods + ": no permission to read it", service: "10.97.0.0/16"},
		{why: "the API server does not answer for the ConfigMap", cluster: declaring{errs: map[string]error{configMap: down}}, fails: true},
		{why: "... for the pods", cluster: declaring{listErr: down}, fails: true},
		{why: "... for Network.config", cluster: declaring{errs: map[string]error{"Network": down}}, fails: true},
		{why: "... for the NetworkGuard", cluster: declaring{errs: map[string]error{"NetworkGuard": down}}, fails: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			decision := row.decision
			if decision == "" {
				decision = applied.Fresh
			}
			d, err := ReadDeclared(t.Context(), row.cluster, decision, row.services)
			if row.fails {
				if !errors.Is(err, down) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || (d == nil) != row.none {
				t.Fatalf("%+v, %v", d, err)
			}
			if d == nil {
				return
			}
			if pods, service := declaredText(d.Pods), declaredText(d.Services); pods != row.pods || service != row.service {
				t.Errorf("pods %q, want %q; Services %q, want %q", pods, row.pods, service, row.service)
			}
			if !strings.HasPrefix(d.Unavailable, row.unavailable) || (d.Unavailable == "") != (row.unavailable == "") {
				t.Errorf("unavailable: %q", d.Unavailable)
			}
			if len(row.services.CIDRs) > 0 && d.Services.Source != pipeline.ServiceCIDRSource {
				t.Errorf("source %q", d.Services.Source)
			}
		})
	}
}

func declaredText(v declared.Value) string {
	if v.Err != nil {
		return v.Err.Error()
	}
	var cidrs []string
	for _, p := range v.Pools {
		cidrs = append(cidrs, p.CIDR.String())
	}
	return strings.Join(cidrs, ",")
}
