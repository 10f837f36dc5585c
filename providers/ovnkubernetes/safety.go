package ovnkubernetes

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// CheckChange returns every unsafe change of a setting.
func (OVNKubernetes) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	before, after := settings(prev), settings(next)
	errs := fixed("mtu", before.MTU, after.MTU, "ovn-mtu-change",
		"cannot change ovn-kubernetes MTU without migration: running pods keep the MTU they started with, and connections between old and new ones would stall")
	return append(errs, fixed("genevePort", before.GenevePort, after.GenevePort, "ovn-geneve-port-change",
		"cannot change ovn-kubernetes genevePort: nodes with different ports do not reach one another")...)
}

// fixed refuses any change of a value. One that is not set has not been recorded.
func fixed(name string, prev, next *uint32, rule, why string) field.ErrorList {
	if prev == nil || next == nil || *prev == *next {
		return nil
	}
	return field.ErrorList{field.Invalid(configPath.Child(name), *next, why+"; put the old value back").WithOrigin(rule)}
}
