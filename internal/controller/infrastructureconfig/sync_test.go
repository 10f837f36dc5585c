package infrastructureconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
)

// bareMetal is an Infrastructure as the installer makes it, with changes.
func bareMetal(change ...func(*configv1.BareMetalPlatformSpec, *configv1.BareMetalPlatformStatus)) *configv1.Infrastructure {
	spec := &configv1.BareMetalPlatformSpec{
		APIServerInternalIPs: []configv1.IP{"192.168.1.1"}, IngressIPs: []configv1.IP{"192.168.1.2"}, MachineNetworks: []configv1.CIDR{"192.168.1.0/24"},
	}
	status := &configv1.BareMetalPlatformStatus{
		APIServerInternalIP: "192.168.1.1", APIServerInternalIPs: []string{"192.168.1.1"}, IngressIP: "192.168.1.2", IngressIPs: []string{"192.168.1.2"},
		MachineNetworks: []configv1.CIDR{"192.168.1.0/24"},
	}
	for _, f := range change {
		f(spec, status)
	}
	return &configv1.Infrastructure{
		Spec:   configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: "BareMetal", BareMetal: spec}},
		Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: "BareMetal", BareMetal: status}},
	}
}

type (
	spec  = configv1.BareMetalPlatformSpec
	state = configv1.BareMetalPlatformStatus
)

func ips(list ...configv1.IP) []configv1.IP { return list }

// userManaged has a load balancer of the user.
func userManaged(_ *spec, s *state) {
	s.LoadBalancer = &configv1.BareMetalPlatformLoadBalancer{Type: configv1.LoadBalancerTypeUserManaged}
}

// dual wants a second family.
func dual(s *spec, _ *state) {
	s.APIServerInternalIPs, s.IngressIPs = ips("192.168.1.1", "fd00::1"), ips("192.168.1.2", "fd00::2")
	s.MachineNetworks = []configv1.CIDR{"192.168.1.0/24", "fd00::/64"}
}

func TestSpecificationAndStatusAreSynced(t *testing.T) {
	dualStatus := func(s *spec, now *state) {
		dual(s, now)
		now.APIServerInternalIPs, now.IngressIPs = []string{"192.168.1.1", "fd00::1"}, []string{"192.168.1.2", "fd00::2"}
		now.MachineNetworks = s.MachineNetworks
	}
	for _, row := range []struct {
		why        string
		have, want *configv1.Infrastructure
	}{
		{"nothing to do", bareMetal(), bareMetal()},
		{"the list is filled from the one address of an early installer", bareMetal(func(_ *spec, now *state) {
			now.APIServerInternalIPs, now.IngressIPs = nil, nil
		}), bareMetal()},
		{"the one address is that of the list", bareMetal(func(_ *spec, now *state) { now.APIServerInternalIP, now.IngressIP = "", "" }), bareMetal()},
		{"the list wins", bareMetal(func(_ *spec, now *state) { now.APIServerInternalIP = "192.168.1.9" }), bareMetal()},
		{"an empty specification is filled", bareMetal(func(s *spec, _ *state) { s.APIServerInternalIPs, s.IngressIPs = nil, nil }), bareMetal()},
		{"a second family is followed", bareMetal(dual), bareMetal(dualStatus)},
		{"and may go again", bareMetal(dualStatus, func(s *spec, _ *state) { s.APIServerInternalIPs, s.IngressIPs = ips("192.168.1.1"), ips("192.168.1.2") }),
			bareMetal(func(s *spec, now *state) {
				s.MachineNetworks = []configv1.CIDR{"192.168.1.0/24", "fd00::/64"}
				now.MachineNetworks = s.MachineNetworks
			})},
		{"the second address may change", bareMetal(dualStatus, func(s *spec, _ *state) { s.APIServerInternalIPs[1] = "fd00::9" }),
			bareMetal(dualStatus, func(s *spec, now *state) {
				s.APIServerInternalIPs[1], now.APIServerInternalIPs[1] = "fd00::9", "fd00::9"
			})},
		{"machine networks behind the first may go", bareMetal(func(_ *spec, now *state) { now.MachineNetworks = append(now.MachineNetworks, "10.0.0.0/24") }), bareMetal()},
		{"a first machine network is new", bareMetal(func(_ *spec, now *state) { now.MachineNetworks = nil }), bareMetal()},
		{"no machine networks at all are an empty list", bareMetal(func(s *spec, now *state) { s.MachineNetworks, now.MachineNetworks = nil, nil }),
			bareMetal(func(s *spec, now *state) {
				s.MachineNetworks, now.MachineNetworks = []configv1.CIDR{}, []configv1.CIDR{}
			})},
		{"a status without addresses takes those that are wanted", bareMetal(func(_ *spec, now *state) { *now = state{MachineNetworks: now.MachineNetworks} }), bareMetal()},
		{"the same address, spelled otherwise", bareMetal(dualStatus, func(s *spec, _ *state) {
			s.APIServerInternalIPs[1] = "FD00:0::1"
		}), bareMetal(dualStatus, func(s *spec, now *state) {
			s.APIServerInternalIPs[1], now.APIServerInternalIPs[1] = "FD00:0::1", "FD00:0::1"
		})},
		{"a user-managed load balancer may have one address for both, anywhere", bareMetal(userManaged, func(s *spec, now *state) {
			s.APIServerInternalIPs, s.IngressIPs = ips("10.9.9.9"), ips("10.9.9.9")
			now.APIServerInternalIPs, now.IngressIPs, now.APIServerInternalIP, now.IngressIP = []string{"10.9.9.9"}, []string{"10.9.9.9"}, "10.9.9.9", "10.9.9.9"
		}), nil},
		{"a platform in a cloud", &configv1.Infrastructure{Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: "AWS"}}}, nil},
		{"no status yet", &configv1.Infrastructure{}, nil},
		{"installations of vSphere without the installer have neither, and keep it so", &configv1.Infrastructure{
			Spec:   configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: "VSphere"}},
			Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: "VSphere"}}}, nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			if row.want == nil {
				row.want = row.have.DeepCopy()
			}
			before := row.have.DeepCopy()
			r := synchronize(row.have)
			if diff := cmp.Diff(row.want, r.infra); diff != "" || len(r.errs) > 0 {
				t.Error(diff, r.errs)
			}
			if diff := cmp.Diff(before, row.have); diff != "" {
				t.Error("the argument was changed", diff)
			}
			if again := synchronize(r.infra); !cmp.Equal(again.infra, r.infra) || len(again.errs) > 0 {
				t.Errorf("the second time something else comes out: %v", again.errs)
			}
		})
	}
}

func TestEveryOnPremisesPlatformIsSynced(t *testing.T) {
	single, two := "192.168.1.1", "192.168.1.2"
	specOnly := map[configv1.PlatformType]bool{"BareMetal": true, "VSphere": true, "OpenStack": true}
	for platform, now := range map[configv1.PlatformType]*configv1.PlatformStatus{
		"BareMetal": {BareMetal: &configv1.BareMetalPlatformStatus{APIServerInternalIP: single, IngressIP: two, MachineNetworks: []configv1.CIDR{"192.168.1.0/24"}}},
		"VSphere":   {VSphere: &configv1.VSpherePlatformStatus{APIServerInternalIP: single, IngressIP: two, MachineNetworks: []configv1.CIDR{"192.168.1.0/24"}}},
		"OpenStack": {OpenStack: &configv1.OpenStackPlatformStatus{APIServerInternalIP: single, IngressIP: two, MachineNetworks: []configv1.CIDR{"192.168.1.0/24"}}},
		"oVirt":     {Ovirt: &configv1.OvirtPlatformStatus{APIServerInternalIP: single, IngressIP: two}},
		"Nutanix":   {Nutanix: &configv1.NutanixPlatformStatus{APIServerInternalIP: single, IngressIP: two}},
	} {
		now.Type = platform
		infra := &configv1.Infrastructure{Spec: configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: platform}}, Status: configv1.InfrastructureStatus{PlatformStatus: now}}
		r := synchronize(infra)
		if len(r.errs) > 0 {
			t.Errorf("%s: %v", platform, r.errs)
		}
		s := platformOf(r.infra)
		if s == nil || len(*s.api.all) != 1 || (*s.ingress.all)[0] != two {
			t.Fatalf("%s: the lists are not filled", platform)
		}
		if (s.desired != nil) != specOnly[platform] {
			t.Errorf("%s: has a specification: %t", platform, s.desired != nil)
		}
		if d := s.desired; d != nil && (len(*d.api) != 1 || len(*d.ingress) != 1 || len(*d.machines) != 1) {
			t.Errorf("%s: the specification is not filled", platform)
		}
	}
}

func TestEveryRuleIsReportedAtItsFieldAndTheStatusStays(t *testing.T) {
	const at = "spec.platformSpec.baremetal."
	for _, row := range []struct {
		why  string
		have *configv1.Infrastructure
		want []string
	}{
		{"machine networks were removed", bareMetal(func(s *spec, _ *state) { s.MachineNetworks = nil }), []string{
			at + "machineNetworks: removing machine networks is forbidden; restore 192.168.1.0/24"}},
		{"the first machine network is another one", bareMetal(func(s *spec, _ *state) { s.MachineNetworks = []configv1.CIDR{"192.168.0.0/16"} }), []string{
			at + "machineNetworks[0]: first machine network cannot be modified, have '192.168.1.0/24' and requested '192.168.0.0/16'; restore it, and add others after it"}},
		{"a machine network that is none", bareMetal(func(s *spec, _ *state) { s.MachineNetworks = append(s.MachineNetworks, "all") }), []string{
			at + "machineNetworks[1]: is not a CIDR; write an address and a prefix, e.g. 192.168.111.0/24"}},
		{"too many, each reported with its number", bareMetal(dual, func(s *spec, _ *state) {
			s.APIServerInternalIPs, s.IngressIPs = append(s.APIServerInternalIPs, "fd00::3"), append(s.IngressIPs, "fd00::4", "fd00::5")
		}), []string{
			at + "apiServerInternalIPs: number of API VIPs needs to be less or equal to 2, got 3",
			at + "ingressIPs: number of Ingress VIPs needs to be less or equal to 2, got 4",
			at + "ingressIPs: number of API VIPs (3) does not match number of Ingress VIPs (4)"}},
		{"one kind more than the other", bareMetal(dual, func(s *spec, _ *state) { s.IngressIPs = s.IngressIPs[:1] }), []string{
			at + "ingressIPs: number of API VIPs (2) does not match number of Ingress VIPs (1)"}},
		{"only one kind is written", bareMetal(func(s *spec, _ *state) { s.IngressIPs = nil }), []string{
			at + "ingressIPs: number of API VIPs (1) does not match number of Ingress VIPs (0)"}},
		{"one address for both", bareMetal(func(s *spec, now *state) {
			s.IngressIPs, now.IngressIPs = ips("192.168.1.1"), []string{"192.168.1.1"}
		}), []string{at + "ingressIPs[0]: VIPs cannot be equal, got '192.168.1.1' for API and '192.168.1.1' for Ingress"}},
		{"the same crosswise, and spelled otherwise", bareMetal(dual, func(s *spec, _ *state) { s.IngressIPs[1] = "fd00:0:0::1" }), []string{
			at + "ingressIPs[1]: VIPs cannot be equal, got 'fd00::1' for API and 'fd00:0:0::1' for Ingress"}},
		{"two of a family", bareMetal(func(s *spec, _ *state) {
			s.APIServerInternalIPs, s.IngressIPs = ips("192.168.1.1", "192.168.1.3"), ips("192.168.1.2", "192.168.1.4")
		}), []string{
			at + "apiServerInternalIPs[1]: with more than 1 API VIP at least one from each IP family is required",
			at + "ingressIPs[1]: with more than 1 Ingress VIP at least one from each IP family is required"}},
		{"an address outside", bareMetal(dual, func(s *spec, _ *state) { s.MachineNetworks = s.MachineNetworks[:1] }), []string{
			at + "apiServerInternalIPs[1]: VIP 'fd00::1' cannot be found in any machine network",
			at + "ingressIPs[1]: VIP 'fd00::2' cannot be found in any machine network"}},
		{"a first address changes", bareMetal(func(s *spec, _ *state) { s.APIServerInternalIPs = ips("192.168.1.7") }), []string{
			at + "apiServerInternalIPs[0]: first VIP cannot be modified, have '192.168.1.1' and requested '192.168.1.7'; restore it"}},
		{"that of ingress, too", bareMetal(func(s *spec, _ *state) { s.IngressIPs = ips("192.168.1.7") }), []string{
			at + "ingressIPs[0]: first VIP cannot be modified, have '192.168.1.2' and requested '192.168.1.7'; restore it"}},
		{"what is no address", bareMetal(dual, func(s *spec, _ *state) { s.IngressIPs[1] = "fd00::2/64" }), []string{
			at + "ingressIPs[1]: is not an IP address; write one without a prefix, e.g. 192.168.111.5"}},
		{"several at once", bareMetal(func(s *spec, _ *state) { s.MachineNetworks, s.IngressIPs = nil, ips("192.168.1.7") }), []string{
			at + "machineNetworks: removing machine networks is forbidden; restore 192.168.1.0/24",
			at + "ingressIPs[0]: first VIP cannot be modified, have '192.168.1.2' and requested '192.168.1.7'; restore it"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := synchronize(row.have)
			var got []string
			for _, e := range r.errs {
				got = append(got, e.Field+": "+e.Detail)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(row.have.Spec, r.infra.Spec); diff != "" {
				t.Error("the specification was changed", diff)
			}
		})
	}
}

// TestStatusIsNormalizedEvenIfTheSpecificationIsInvalid: the two forms of an address are no user's business.
func TestStatusIsNormalizedEvenIfTheSpecificationIsInvalid(t *testing.T) {
	infra := bareMetal(func(s *spec, now *state) { s.MachineNetworks, now.APIServerInternalIP = nil, "192.168.1.9" })
	r := synchronize(infra)
	if len(r.errs) == 0 || r.infra.Status.PlatformStatus.BareMetal.APIServerInternalIP != "192.168.1.1" {
		t.Errorf("the status is %+v, %v", r.infra.Status.PlatformStatus.BareMetal, r.errs)
	}
	if diff := cmp.Diff([]string{"status.platformStatus.baremetal.apiServerInternalIP"}, r.conflicting); diff != "" {
		t.Error(diff)
	}
}

func FuzzSynchronizeNeverPanicsAndComesToAnEnd(f *testing.F) {
	f.Add("192.168.1.1,fd00::1", "192.168.1.2,fd00::2", "192.168.1.0/24", "192.168.1.1", "192.168.1.2", "192.168.1.0/24", "", true, false)
	f.Add("192.168.1.1", "192.168.1.2", "", "", "", "", "", false, false)
	f.Add("", "", "", "192.168.1.1", "", "", "192.168.1.3", false, true)
	split := func(s string) []string {
		if s == "" {
			return nil
		}
		return strings.Split(s, ",")
	}
	f.Fuzz(func(t *testing.T, api, ingress, machines, nowAPI, nowIngress, nowMachines, single string, own, noSpec bool) {
		infra := bareMetal(func(s *spec, now *state) {
			*s, *now = spec{}, state{APIServerInternalIP: single, APIServerInternalIPs: split(nowAPI), IngressIPs: split(nowIngress)}
			for _, a := range split(api) {
				s.APIServerInternalIPs = append(s.APIServerInternalIPs, configv1.IP(a))
			}
			for _, a := range split(ingress) {
				s.IngressIPs = append(s.IngressIPs, configv1.IP(a))
			}
			for _, a := range split(machines) {
				s.MachineNetworks = append(s.MachineNetworks, configv1.CIDR(a))
			}
			for _, a := range split(nowMachines) {
				now.MachineNetworks = append(now.MachineNetworks, configv1.CIDR(a))
			}
			if own {
				userManaged(s, now)
			}
		})
		if noSpec {
			infra.Spec.PlatformSpec.BareMetal = nil
		}
		first := synchronize(infra)
		second := synchronize(first.infra)
		if len(first.errs) == 0 && len(split(api)) > 0 && !cmp.Equal(first.infra, second.infra) {
			t.Errorf("the second time something else comes out: %s", cmp.Diff(first.infra, second.infra))
		}
		_, _ = specOf(first.infra), statusOf(first.infra)
	})
}
