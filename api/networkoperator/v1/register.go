package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "networkoperator.openshift.io", Version: "v1"}

// AddToScheme adds the types of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &NetworkComponent{}, &NetworkComponentList{}, &NetworkConfig{}, &NetworkConfigList{}, &NetworkGuard{}, &NetworkGuardList{}, &NetworkNode{}, &NetworkNodeList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
