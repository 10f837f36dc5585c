package admission

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

func serviceCIDR(allowed bool, cidrs ...string) *networkingv1.ServiceCIDR {
	s := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
	if allowed {
		s.Annotations = map[string]string{AllowUnsafe: "true"}
	}
	return s
}

func TestAServiceCIDROutsideTheServiceNetworkIsRefused(t *testing.T) {
	d := newServer(t, inUse())
	for _, row := range []struct {
		why      string
		object   *networkingv1.ServiceCIDR
		messages []string
	}{
		{"another range", serviceCIDR(false, "10.97.0.0/16"), []string{"spec.cidrs: 10.97.0.0/16 is outside spec.serviceNetwork of Network/cluster (10.96.0.0/16)",
			"type Flannel", "Use a range inside 10.96.0.0/16", AllowUnsafe + "=true", "(service-cidr-outside)"}},
		{"a range that contains it", serviceCIDR(false, "10.96.0.0/12"), []string{"10.96.0.0/12 is outside"}},
		{"a second family", serviceCIDR(false, "10.96.128.0/20", "fd00:96::/112"), []string{"spec.cidrs: fd00:96::/112 is outside"}},
		{"a part of it", serviceCIDR(false, "10.96.128.0/20"), nil},
		{"another range, allowed by its annotation", serviceCIDR(true, "10.97.0.0/16"), nil},
	} {
		err := d.Client.Create(t.Context(), row.object, client.DryRunAll)
		if (err == nil) != (row.messages == nil) {
			t.Errorf("%s: %v", row.why, err)
			continue
		}
		for _, text := range row.messages {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q lacks %q", row.why, err, text)
			}
		}
	}
}

func TestAThirdPartyNetworkMayServeMoreServiceCIDRs(t *testing.T) {
	d := newServer(t, inUse(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = "Calico" }))
	if err := d.Client.Create(t.Context(), serviceCIDR(false, "10.97.0.0/16"), client.DryRunAll); err != nil {
		t.Errorf("it is refused: %v", err)
	}
}
