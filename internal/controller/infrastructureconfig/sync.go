package infrastructureconfig

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// result is what becomes of an Infrastructure.
type result struct {
	// infra is the object as it is to be; the argument is left as it is.
	infra *configv1.Infrastructure
	// errs is everything that is wrong with the specification. The status is then not brought in line with it.
	errs field.ErrorList
	// differing are singular fields of the status that said something else than the list which took their place.
	differing []string
}

// synchronize brings specification and status of an Infrastructure in line: the two forms of virtual addresses in the
// status, then the specification, which is filled from the status where it is empty, and then the status, which
// follows the specification.
func synchronize(infra *configv1.Infrastructure) result {
	r := result{infra: infra.DeepCopy()}
	trial := infra.DeepCopy()
	s := siteOf(trial)
	if s == nil {
		return r
	}
	for _, v := range []struct {
		virtual
		name string
	}{{s.api, "apiServerInternalIP"}, {s.ingress, "ingressIP"}} {
		if v.unify() {
			r.differing = append(r.differing, "status.platformStatus."+s.name+"."+v.name)
		}
	}
	// What only puts the status in order is right, whatever the specification says.
	r.infra.Status = *trial.Status.DeepCopy()
	if s.desired == nil {
		return r
	}
	if r.errs = validate(s); len(r.errs) > 0 {
		return r
	}
	s.follow()
	r.infra = trial
	return r
}

// unify makes both forms say the same. The list is right where it says anything. It reports whether the singular form
// said something else.
func (v virtual) unify() (differs bool) {
	switch {
	case len(*v.many) > 0:
		differs = *v.one != "" && *v.one != (*v.many)[0]
		*v.one = (*v.many)[0]
	case *v.one != "":
		*v.many = []string{*v.one}
	}
	return differs
}

// follow fills an empty specification from the status, and then lets the status follow it.
func (s *site) follow() {
	d := s.desired
	if d.initial && len(*d.machines) == 0 {
		*d.machines = slices.Clone(*d.inForce)
	}
	if len(*d.machines) == 0 {
		*d.machines = []configv1.CIDR{} // an empty list, which is not the same as none to the API
	}
	*d.inForce = slices.Clone(*d.machines)
	followOne(d.api, s.api)
	followOne(d.ingress, s.ingress)
}

func followOne(wanted *[]configv1.IP, now virtual) {
	if len(*wanted) == 0 {
		*wanted = make([]configv1.IP, 0, len(*now.many))
		for _, ip := range *now.many {
			*wanted = append(*wanted, configv1.IP(ip))
		}
		return
	}
	list := make([]string, 0, len(*wanted))
	for _, ip := range *wanted {
		list = append(list, string(ip))
	}
	*now.many = list
	now.unify()
}
