package infrastructureconfig

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// result is the result of a synchronization.
type result struct {
	// infra is the desired object; the argument is not modified.
	infra *configv1.Infrastructure
	// errs are the errors of the specification, with which the status is not updated.
	errs field.ErrorList
	// conflicting are singular fields of the status that differed from the list that replaces them.
	conflicting []string
}

// synchronize synchronizes an Infrastructure: first the two forms of virtual addresses in the status, then an empty specification from the
// status, then the status from the specification.
func synchronize(infra *configv1.Infrastructure) result {
	r := result{infra: infra.DeepCopy()}
	synced := infra.DeepCopy()
	s := platformOf(synced)
	if s == nil {
		return r
	}
	for _, v := range []struct {
		statusVIPs
		name string
	}{{s.api, "apiServerInternalIP"}, {s.ingress, "ingressIP"}} {
		if v.normalize() {
			r.conflicting = append(r.conflicting, "status.platformStatus."+s.name+"."+v.name)
		}
	}
	// The normalization of the status is valid even if the specification is not.
	r.infra.Status = *synced.Status.DeepCopy()
	if s.desired == nil {
		return r
	}
	if r.errs = validate(s); len(r.errs) > 0 {
		return r
	}
	s.sync()
	r.infra = synced
	return r
}

// normalize sets both forms to the same value. The list takes precedence. It reports whether the singular form differed.
func (v statusVIPs) normalize() (differs bool) {
	switch {
	case len(*v.all) > 0:
		differs = *v.single != "" && *v.single != (*v.all)[0]
		*v.single = (*v.all)[0]
	case *v.single != "":
		*v.all = []string{*v.single}
	}
	return differs
}

// sync fills an empty specification from the status, and then updates the status.
func (s *platform) sync() {
	d := s.desired
	if d.created && len(*d.machines) == 0 {
		*d.machines = slices.Clone(*d.active)
	}
	if len(*d.machines) == 0 {
		*d.machines = []configv1.CIDR{} // an empty list, which the API distinguishes from a missing one
	}
	*d.active = slices.Clone(*d.machines)
	syncAddresses(d.api, s.api)
	syncAddresses(d.ingress, s.ingress)
}

func syncAddresses(wanted *[]configv1.IP, now statusVIPs) {
	if len(*wanted) == 0 {
		*wanted = make([]configv1.IP, 0, len(*now.all))
		for _, ip := range *now.all {
			*wanted = append(*wanted, configv1.IP(ip))
		}
		return
	}
	list := make([]string, 0, len(*wanted))
	for _, ip := range *wanted {
		list = append(list, string(ip))
	}
	*now.all = list
	now.normalize()
}
