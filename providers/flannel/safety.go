package flannel

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// CheckChange returns every unsafe change of a setting, according to Fields.
func (f Flannel) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, f.Fields())
}
