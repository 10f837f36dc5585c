package kubeproxy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// CheckChange refuses nothing: connections that are established survive a restart of kube-proxy with other settings,
// its start and its end.
func (Component) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }
