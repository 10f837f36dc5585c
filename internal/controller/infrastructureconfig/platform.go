package infrastructureconfig

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// virtual are the virtual addresses of one kind in the status: a list, and the field for one address that was there before it.
type virtual struct {
	one  *string
	many *[]string
}

// site is what an Infrastructure says of one of the platforms with virtual addresses of their own.
type site struct {
	// name is that of the platform's field in both specification and status.
	name         string
	api, ingress virtual
	// desired is nil for platforms whose specification has none of this.
	desired *desired
}

// desired is the part that people edit, and the machine networks that are in effect.
type desired struct {
	path         *field.Path
	api, ingress *[]configv1.IP
	machines     *[]configv1.CIDR
	inForce      *[]configv1.CIDR
	// initial is true if the specification of the platform did not exist at all.
	initial bool
	// userManaged is true if people bring their own load balancer.
	userManaged bool
}

// siteOf returns the parts of an Infrastructure, as pointers into it. A specification that is missing is made, since it
// came later than the status. It returns nil for platforms without virtual addresses, and for those without a status: such
// are made by people who install without the installer, and stay as they are.
func siteOf(infra *configv1.Infrastructure) *site {
	status, spec := infra.Status.PlatformStatus, &infra.Spec.PlatformSpec
	switch {
	case status == nil:
		return nil
	case status.Type == configv1.BareMetalPlatformType && status.BareMetal != nil:
		now, initial := status.BareMetal, ensure(&spec.BareMetal)
		s := named("baremetal", virtual{&now.APIServerInternalIP, &now.APIServerInternalIPs}, virtual{&now.IngressIP, &now.IngressIPs})
		s.desire(&spec.BareMetal.APIServerInternalIPs, &spec.BareMetal.IngressIPs, &spec.BareMetal.MachineNetworks, &now.MachineNetworks)
		s.desired.initial, s.desired.userManaged = initial, now.LoadBalancer != nil && now.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged
		return s
	case status.Type == configv1.VSpherePlatformType && status.VSphere != nil:
		now, initial := status.VSphere, ensure(&spec.VSphere)
		s := named("vsphere", virtual{&now.APIServerInternalIP, &now.APIServerInternalIPs}, virtual{&now.IngressIP, &now.IngressIPs})
		s.desire(&spec.VSphere.APIServerInternalIPs, &spec.VSphere.IngressIPs, &spec.VSphere.MachineNetworks, &now.MachineNetworks)
		s.desired.initial, s.desired.userManaged = initial, now.LoadBalancer != nil && now.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged
		return s
	case status.Type == configv1.OpenStackPlatformType && status.OpenStack != nil:
		now, initial := status.OpenStack, ensure(&spec.OpenStack)
		s := named("openstack", virtual{&now.APIServerInternalIP, &now.APIServerInternalIPs}, virtual{&now.IngressIP, &now.IngressIPs})
		s.desire(&spec.OpenStack.APIServerInternalIPs, &spec.OpenStack.IngressIPs, &spec.OpenStack.MachineNetworks, &now.MachineNetworks)
		s.desired.initial, s.desired.userManaged = initial, now.LoadBalancer != nil && now.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged
		return s
	case status.Type == configv1.OvirtPlatformType && status.Ovirt != nil:
		return named("ovirt", virtual{&status.Ovirt.APIServerInternalIP, &status.Ovirt.APIServerInternalIPs}, virtual{&status.Ovirt.IngressIP, &status.Ovirt.IngressIPs})
	case status.Type == configv1.NutanixPlatformType && status.Nutanix != nil:
		return named("nutanix", virtual{&status.Nutanix.APIServerInternalIP, &status.Nutanix.APIServerInternalIPs}, virtual{&status.Nutanix.IngressIP, &status.Nutanix.IngressIPs})
	}
	return nil
}

func named(name string, api, ingress virtual) *site {
	return &site{name: name, api: api, ingress: ingress}
}

func (s *site) desire(api, ingress *[]configv1.IP, machines, inForce *[]configv1.CIDR) {
	s.desired = &desired{path: field.NewPath("spec", "platformSpec", s.name), api: api, ingress: ingress, machines: machines, inForce: inForce}
}

// ensure makes a part that is missing, and reports whether it was.
func ensure[T any](part **T) bool {
	if *part != nil {
		return false
	}
	*part = new(T)
	return true
}
