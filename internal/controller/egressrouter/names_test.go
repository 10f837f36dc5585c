package egressrouter

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

func TestNoTwoRoutersShareAName(t *testing.T) {
	taken := map[string]string{fixedDeployment: "OpenShift's", fixedAttachment: "OpenShift's"}
	for _, router := range []string{
		"a", "a-ipv4", "a-ipv6", "ipv4", "ipv6", "ipv6-a", "a-ipv4-ipv6", "0",
		"a.b", "a-b",
		strings.Repeat("a", 40), strings.Repeat("a", 41), strings.Repeat("a", 253),
		strings.Repeat("a", 31) + "." + strings.Repeat("b", 20), strings.Repeat("a", 31) + "-" + strings.Repeat("b", 20),
	} {
		for _, name := range []string{deploymentName(router) + " (Deployment)", attachmentName(router, false), attachmentName(router, true)} {
			if other, is := taken[name]; is {
				t.Errorf("%s and %s both have %s", other, router, name)
			}
			taken[name] = router
			name, _, _ = strings.Cut(name, " ")
			if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
				t.Errorf("%s has %s: %v", router, name, wrong)
			}
		}
	}
}

func TestShortNamesAreUnchanged(t *testing.T) {
	for name, want := range map[string]string{
		"shop":                  "egress-router-shop",
		strings.Repeat("x", 40): "egress-router-" + strings.Repeat("x", 40),
	} {
		if got := deploymentName(name); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestTheControllerReferenceDecidesOwnership(t *testing.T) {
	router := &networkv1.EgressRouter{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "new"}}
	owner := func(version, kind, name string, uid types.UID) []metav1.OwnerReference {
		o := ownerOf(router)
		o.APIVersion, o.Kind, o.Name, o.UID = version, kind, name, uid
		return []metav1.OwnerReference{o}
	}
	notController := ownerOf(router)
	notController.Controller = nil
	for _, row := range []struct {
		why    string
		owners []metav1.OwnerReference
		want   ownership
	}{
		{"its own", owner("network.operator.openshift.io/v1", "EgressRouter", "r", "new"), owned},
		{"no owner", nil, unowned},
		{"an owner that is no controller", []metav1.OwnerReference{notController}, unowned},
		{"a deleted router of this name", owner("network.operator.openshift.io/v1", "EgressRouter", "r", "old"), ownedByPredecessor},
		{"the same in another version", owner("network.operator.openshift.io/v2", "EgressRouter", "r", "old"), ownedByPredecessor},
		{"another router", owner("network.operator.openshift.io/v1", "EgressRouter", "other", "old"), ownedByOther},
		{"another kind of that name", owner("apps/v1", "EgressRouter", "r", "old"), ownedByOther},
		{"a Deployment of that name", owner("apps/v1", "Deployment", "r", "old"), ownedByOther},
	} {
		t.Run(row.why, func(t *testing.T) {
			if got := ownershipOf(&metav1.ObjectMeta{OwnerReferences: row.owners}, router); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}
