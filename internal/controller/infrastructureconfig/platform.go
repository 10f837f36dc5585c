package infrastructureconfig

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// statusVIPs are the virtual addresses of one kind in the status: the list, and the older field for one address.
type statusVIPs struct {
	single *string
	all    *[]string
}

// platform are the virtual addresses in an Infrastructure of one platform.
type platform struct {
	// name is the name of the platform's field in specification and status.
	name         string
	api, ingress statusVIPs
	// desired is nil for platforms without these fields in the specification.
	desired *desired
}

// desired is the part of the specification that users edit, and the active machine networks.
type desired struct {
	path         *field.Path
	api, ingress *[]configv1.IP
	machines     *[]configv1.CIDR
	active       *[]configv1.CIDR
	// created is true if the specification of the platform did not exist.
	created bool
	// userManaged is true if the load balancer is managed by the user.
	userManaged bool
}

// platformOf returns pointers into an Infrastructure. A missing specification is created, since it is newer than the status. It returns nil
// for platforms without virtual addresses, and without a status, as in installations without the installer.
func platformOf(infra *configv1.Infrastructure) *platform {
	status, spec := infra.Status.PlatformStatus, &infra.Spec.PlatformSpec
	switch {
	case status == nil:
		return nil
	case status.Type == configv1.BareMetalPlatformType && status.BareMetal != nil:
		now, created := status.BareMetal, ensure(&spec.BareMetal)
		s := newPlatform("baremetal", statusVIPs{&now.APIServerInternalIP, &now.APIServerInternalIPs}, statusVIPs{&now.IngressIP, &now.IngressIPs})
		s.setDesired(&spec.BareMetal.APIServerInternalIPs, &spec.BareMetal.IngressIPs, &spec.BareMetal.MachineNetworks, &now.MachineNetworks)
		s.desired.created, s.desired.userManaged = created, now.LoadBalancer != nil && now.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged
		return s
	case status.Type == configv1.VSpherePlatformType && status.VSphere != nil:
		now, created := status.VSphere, ensure(&spec.VSphere)
		s := newPlatform("vsphere", statusVIPs{&now.APIServerInternalIP, &now.APIServerInternalIPs}, statusVIPs{&now.IngressIP, &now.IngressIPs})
		s.setDesired(&spec.VSphere.APIServerInternalIPs, &spec.VSphere.IngressIPs, &spec.VSphere.MachineNetworks, &now.MachineNetworks)
		s.desired.created, s.desired.userManaged = created, now.LoadBalancer != nil && now.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged
		return s
	case status.Type == configv1.OpenStackPlatformType && status.OpenStack != nil:
		now, created := status.OpenStack, ensure(&spec.OpenStack)
		s := newPlatform("openstack", statusVIPs{&now.APIServerInternalIP, &now.APIServerInternalIPs}, statusVIPs{&now.IngressIP, &now.IngressIPs})
		s.setDesired(&spec.OpenStack.APIServerInternalIPs, &spec.OpenStack.IngressIPs, &spec.OpenStack.MachineNetworks, &now.MachineNetworks)
		s.desired.created, s.desired.userManaged = created, now.LoadBalancer != nil && now.LoadBalancer.Type == configv1.LoadBalancerTypeUserManaged
		return s
	case status.Type == configv1.OvirtPlatformType && status.Ovirt != nil:
		return newPlatform("ovirt", statusVIPs{&status.Ovirt.APIServerInternalIP, &status.Ovirt.APIServerInternalIPs}, statusVIPs{&status.Ovirt.IngressIP, &status.Ovirt.IngressIPs})
	case status.Type == configv1.NutanixPlatformType && status.Nutanix != nil:
		return newPlatform("nutanix", statusVIPs{&status.Nutanix.APIServerInternalIP, &status.Nutanix.APIServerInternalIPs}, statusVIPs{&status.Nutanix.IngressIP, &status.Nutanix.IngressIPs})
	}
	return nil
}

func newPlatform(name string, api, ingress statusVIPs) *platform {
	return &platform{name: name, api: api, ingress: ingress}
}

func (s *platform) setDesired(api, ingress *[]configv1.IP, machines, active *[]configv1.CIDR) {
	s.desired = &desired{path: field.NewPath("spec", "platformSpec", s.name), api: api, ingress: ingress, machines: machines, active: active}
}

// ensure creates a missing part, and reports whether it did.
func ensure[T any](part **T) bool {
	if *part != nil {
		return false
	}
	*part = new(T)
	return true
}
