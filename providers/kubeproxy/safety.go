package kubeproxy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// CheckChange returns every unsafe change, according to Fields. There is none: established connections survive a restart of kube-proxy with other settings,
// its start and its end. The pipeline checks whether any other component implements Services.
func (c Component) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, c.Fields())
}
