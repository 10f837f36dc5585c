package openshiftsdn

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) {
	definitions, err := crds.OpenShiftSDN()
	if err != nil {
		panic(err)
	}
	apitest.Main(m, apitest.Options{CRDs: definitions})
}

// warnings collects what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	last []string
}

// HandleWarningHeader notes a warning.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, text)
}

func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.last, "\n")
	w.last = nil
	return all
}

// guarded is an API server with the network in use and its policies. The users are an administrator of the cluster, the controller, and an
// administrator of the namespace default, whose permissions on objects of the network are those that the network adds to roles of Kubernetes.
type guarded struct {
	admin, controller, tenant client.Client
	warned                    *warnings
}

func newGuarded(t *testing.T) guarded {
	t.Helper()
	s := apitest.Shared(t)
	spec := New().Default(network(nil), nil, facts.Cluster{HostMTU: 1500})
	o, err := admission.Object(pipeline.Registry{Providers: []provider.Provider{New()}}, admission.Applied{Spec: spec, Traits: New().Traits()})
	if err != nil {
		t.Fatal(err)
	}
	s.Create(t, o.Object)
	policies, bindings := admission.Policies(New().Fields(), provider.Operands{Guards: admissionPolicies()})
	for i := range policies {
		if strings.Contains(policies[i].Name, "-sdn-") {
			s.Create(t, &policies[i])
			s.Create(t, &bindings[i])
		}
	}
	for _, out := range output(t, network(nil), nil, cluster()).Objects {
		if out.Key().Kind == "ClusterRole" || out.Key().Kind == "ClusterRoleBinding" {
			s.Create(t, out.Object.DeepCopy())
		}
	}
	// kube-controller-manager, which is not part of this server, makes it a part of the roles view, edit and admin.
	s.Create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tenant"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: readersRole},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant"}}})
	s.Create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tenant-endpoints"},
		// Kubernetes' role admin has them no longer; clusters that were upgraded give them still.
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"", "discovery.k8s.io"}, Resources: []string{"endpoints", "endpointslices"}, Verbs: []string{"*"}}}})
	s.Create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tenant-endpoints"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant-endpoints"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant"}}})
	g := guarded{warned: &warnings{}}
	as := func(config *rest.Config) client.Client {
		config = rest.CopyConfig(config)
		config.WarningHandler = g.warned
		c, err := s.ClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	g.admin, g.tenant = as(s.User(t, "root", "system:masters")), as(s.User(t, "tenant"))
	g.controller = as(s.User(t, controllerUser, "system:masters"))
	inEffect := func() error {
		if err := g.tenant.List(t.Context(), &sdnv1.EgressNetworkPolicyList{}, client.InNamespace("default")); err != nil {
			return err
		}
		for _, o := range []client.Object{netNamespace(4711), hostSubnet(func(h *sdnv1.HostSubnet) { h.Subnet = "10.0.0.0/23" }), slice("10.128.0.5")} {
			by := g.admin
			if o.GetNamespace() != "" {
				by = g.tenant
			}
			if err := by.Create(t.Context(), o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				return fmt.Errorf("the policies are not in effect for %T: %v", o, err)
			}
		}
		if err := g.tenant.Create(t.Context(), endpointsOf("10.128.0.5"), client.DryRunAll); err == nil {
			return fmt.Errorf("the policy for Endpoints is not in effect")
		}
		g.warned.take()
		if err := g.admin.Create(t.Context(), firewall("10.0.0.1/8"), client.DryRunAll); err != nil || g.warned.take() == "" {
			return fmt.Errorf("no warning: %v", err)
		}
		return nil
	}
	eventually.Holds(t, "the policies and permissions are in effect", func() (string, bool) {
		err := inEffect()
		return fmt.Sprint(err), err == nil
	})
	return g
}

// create creates an object by a user, and deletes it when the test ends.
func create(t *testing.T, by client.Client, o client.Object) {
	t.Helper()
	if err := by.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	apitest.Shared(t).DeleteAfter(t, o)
}

func netNamespace(netid uint32, egressIPs ...string) *sdnv1.NetNamespace {
	return &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, NetName: "shop", NetID: netid, EgressIPs: egressIPs}
}

func hostSubnet(change func(*sdnv1.HostSubnet)) *sdnv1.HostSubnet {
	h := &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}, Host: "worker-0", HostIP: "192.0.2.11", Subnet: "10.128.2.0/23"}
	if change != nil {
		change(h)
	}
	return h
}

func firewall(cidrs ...string) *sdnv1.EgressNetworkPolicy {
	p := &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	for _, c := range cidrs {
		p.Spec.Egress = append(p.Spec.Egress, sdnv1.EgressNetworkPolicyRule{Type: sdnv1.EgressNetworkPolicyRuleDeny, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: c}})
	}
	return p
}

func slice(addresses ...string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "manual"}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}}}
}

func endpointsOf(addresses ...string) *corev1.Endpoints { //nolint:staticcheck // tenants still write them
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "manual"}, Subsets: []corev1.EndpointSubset{{}}} //nolint:staticcheck // likewise
	for _, a := range addresses {
		e.Subsets[0].NotReadyAddresses = append(e.Subsets[0].NotReadyAddresses, corev1.EndpointAddress{IP: a})
	}
	return e
}

func TestInvalidObjectsAreRefusedAtAdmission(t *testing.T) {
	g := newGuarded(t)
	create(t, g.controller, netNamespace(4711))
	automatic := hostSubnet(func(h *sdnv1.HostSubnet) {
		h.EgressCIDRs, h.EgressIPs = []string{"192.0.2.128/25"}, []string{"192.0.2.130"}
	})
	create(t, g.controller, automatic)
	other := func(change func(*sdnv1.HostSubnet)) *sdnv1.HostSubnet {
		return hostSubnet(func(h *sdnv1.HostSubnet) { h.Name, h.Host = "router", "router"; change(h) })
	}
	const networks = "(10.128.0.0/14, 172.30.0.0/16)"
	for _, tc := range []struct {
		why    string
		by     client.Client
		object client.Object // with a resource version: an update
		want   []string
	}{
		{"a VNID set manually", g.admin, netNamespace(0), []string{"netid: 0 is not 4711, and only the controller changes a VNID; use cno pod-network, or annotate the NetNamespace with " + sdnv1.AnnotationChangeNetwork + " (netnamespace-netid)"}},
		{"... by the controller", g.controller, netNamespace(0), nil},
		{"a NetNamespace created manually", g.admin, &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "new"}, NetName: "new", NetID: 12}, []string{"create the Namespace new (netnamespace-netid)"}},
		{"egress IPs", g.admin, netNamespace(4711, "192.0.2.100"), nil},
		{"egress IPs of pods and Services", g.admin, netNamespace(4711, "10.128.0.7", "192.0.2.100", "172.30.0.1"), []string{"egressIPs: 10.128.0.7, 172.30.0.1 is inside the network of pods or Services " + networks + "; choose"}},
		{"... of the controller, too", g.controller, netNamespace(4711, "10.128.0.7"), []string{"(egress-ip-network)"}},
		{"an appliance", g.admin, other(func(h *sdnv1.HostSubnet) { h.Subnet = "10.131.0.0/23" }), nil},
		{"an appliance that gets a block", g.admin, other(func(h *sdnv1.HostSubnet) {
			h.Subnet, h.Annotations = "", map[string]string{sdnv1.AnnotationAssignSubnet: "true"}
		}), nil},
		{"a block elsewhere", g.admin, other(func(h *sdnv1.HostSubnet) { h.Subnet = "10.200.0.0/23" }), []string{"subnet: 10.200.0.0/23 is outside the cluster network (10.128.0.0/14); choose a block inside it", "(hostsubnet-pools)"}},
		{"a block larger than the pool", g.admin, other(func(h *sdnv1.HostSubnet) { h.Subnet = "10.128.0.0/12" }), []string{"(hostsubnet-pools)"}},
		{"no block", g.admin, other(func(h *sdnv1.HostSubnet) { h.Subnet = "" }), []string{"subnet: is missing; write a block of the cluster network (10.128.0.0/14), or add the annotation"}},
		{"a host inside the pods' network", g.admin, other(func(h *sdnv1.HostSubnet) { h.HostIP = "10.129.0.5" }), []string{"hostIP: 10.129.0.5 is inside the network of pods or Services " + networks}},
		{"a host inside the Services' network", g.controller, other(func(h *sdnv1.HostSubnet) { h.HostIP = "172.30.0.5" }), []string{"(hostsubnet-host-ip-network)"}},
		{"egress IPs beside egressCIDRs", g.admin, hostSubnet(func(h *sdnv1.HostSubnet) { h.EgressCIDRs, h.EgressIPs = automatic.EgressCIDRs, []string{"192.0.2.131"} }),
			[]string{"egressIPs: 192.0.2.131 beside egressCIDRs: the controller assigns addresses of egressCIDRs, and replaces others; leave egressIPs as they are, or remove egressCIDRs (hostsubnet-egress-ips)"}},
		{"... by the controller", g.controller, hostSubnet(func(h *sdnv1.HostSubnet) { h.EgressCIDRs, h.EgressIPs = automatic.EgressCIDRs, []string{"192.0.2.131"} }), nil},
		{"egressCIDRs that change", g.admin, hostSubnet(func(h *sdnv1.HostSubnet) {
			h.EgressCIDRs, h.EgressIPs = []string{"192.0.2.192/26"}, automatic.EgressIPs
		}), nil},
		{"egressCIDRs that are removed, for manual addresses", g.admin, hostSubnet(func(h *sdnv1.HostSubnet) { h.EgressIPs = []string{"192.0.2.131"} }), nil},
	} {
		t.Run(tc.why, func(t *testing.T) { check(t, tc.by, tc.object, tc.want) })
	}
}

// check creates an object, or updates it if it exists, without doing it.
func check(t *testing.T, by client.Client, o client.Object, want []string) {
	t.Helper()
	live := o.DeepCopyObject().(client.Object)
	err := by.Create(t.Context(), o, client.DryRunAll)
	if getErr := apitest.Shared(t).Client.Get(t.Context(), client.ObjectKeyFromObject(o), live); getErr == nil {
		o.SetResourceVersion(live.GetResourceVersion())
		err = by.Update(t.Context(), o, client.DryRunAll)
	}
	if (err == nil) != (want == nil) {
		t.Fatalf("%v, want %q", err, want)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q lacks %q", err, text)
		}
	}
}

func TestOldSpellingsOfEgressNetworkPoliciesHaveAWarning(t *testing.T) {
	g := newGuarded(t)
	for _, tc := range []struct {
		why   string
		cidrs []string
		want  string
	}{
		{"as it is to be written", []string{"203.0.113.0/24", "0.0.0.0/0", "203.0.113.7/32"}, ""},
		{"host bits", []string{"203.0.113.7/24"}, "203.0.113.7/24 is read as 203.0.113.0/24; write that (egressnetworkpolicy-host-bits)"},
		{"everything as it was once written", []string{"10.0.0.1/8", "0.0.0.0/32"}, "10.0.0.1/8 is read as 10.0.0.0/8, 0.0.0.0/32 is read as 0.0.0.0/0"},
	} {
		g.warned.take()
		if err := g.admin.Create(t.Context(), firewall(tc.cidrs...), client.DryRunAll); err != nil {
			t.Errorf("%s: %v", tc.why, err)
		}
		if got := g.warned.take(); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: warned %q, want %q", tc.why, got, tc.want)
		}
	}
}

// TestTenantsCannotWriteNetworkObjects: an administrator of a namespace reads its egress firewall, and that is all.
func TestTenantsCannotWriteNetworkObjects(t *testing.T) {
	g := newGuarded(t)
	create(t, g.controller, netNamespace(4711))
	create(t, g.controller, hostSubnet(nil))
	create(t, g.admin, firewall("0.0.0.0/0"))
	if err := g.tenant.Get(t.Context(), client.ObjectKeyFromObject(firewall()), firewall()); err != nil {
		t.Errorf("the tenant does not read the firewall: %v", err)
	}
	const annotation = `{"metadata":{"annotations":{"pod.network.openshift.io/multitenant.change-network":"global"}}}`
	for why, attack := range map[string]func() error{
		"a VNID":                 func() error { return g.patch(t, g.tenant, netNamespace(0), `{"netid":0}`) },
		"an egress IP":           func() error { return g.patch(t, g.tenant, netNamespace(0), `{"egressIPs":["192.0.2.9"]}`) },
		"the annotation":         func() error { return g.patch(t, g.tenant, netNamespace(0), annotation) },
		"a subnet":               func() error { return g.patch(t, g.tenant, hostSubnet(nil), `{"subnet":"10.128.4.0/23"}`) },
		"an egress IP of a node": func() error { return g.patch(t, g.tenant, hostSubnet(nil), `{"egressIPs":["192.0.2.9"]}`) },
		"a firewall":             func() error { return g.patch(t, g.tenant, firewall(), `{"spec":{"egress":[]}}`) },
		"no firewall":            func() error { return g.tenant.Delete(t.Context(), firewall(), client.DryRunAll) },
		"a new node":             func() error { return g.tenant.Create(t.Context(), hostSubnet(nil), client.DryRunAll) },
		"reading of all VNIDs":   func() error { return g.tenant.List(t.Context(), &sdnv1.NetNamespaceList{}) },
	} {
		if err := attack(); err == nil || !strings.Contains(err.Error(), `forbidden: User "tenant" cannot`) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func (g guarded) patch(t *testing.T, by client.Client, o client.Object, body string) error {
	return by.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(body)), client.DryRunAll)
}

// TestTenantsCannotWritePodEndpoints: by a NodePort with such an endpoint, they would reach the pods of others.
func TestTenantsCannotWritePodEndpoints(t *testing.T) {
	g := newGuarded(t)
	const refusal = "10.129.0.7 is inside the network of pods or Services (10.128.0.0/14, 172.30.0.0/16); only users who may create "
	for _, tc := range []struct {
		why    string
		by     client.Client
		object client.Object
		want   []string
	}{
		{"an address elsewhere", g.tenant, slice("192.0.2.9"), nil},
		{"an address of a pod", g.tenant, slice("192.0.2.9", "10.129.0.7"), []string{refusal + "endpointslices/restricted may write such endpoints; use a selector in the Service (endpoints-restricted)"}},
		{"an address of a Service", g.tenant, slice("172.30.0.1"), []string{"172.30.0.1 is inside"}},
		{"... in Endpoints, not ready", g.tenant, endpointsOf("10.129.0.7"), []string{refusal + "endpoints/restricted"}},
		{"an administrator of the cluster may", g.admin, slice("10.129.0.7"), nil},
		{"... Endpoints, too", g.admin, endpointsOf("10.129.0.7"), nil},
	} {
		t.Run(tc.why, func(t *testing.T) { check(t, tc.by, tc.object, tc.want) })
	}
	s := apitest.Shared(t)
	for _, name := range []string{"endpoint-controller", "endpointslice-controller", "endpointslicemirroring-controller"} {
		controller, err := s.ClientFor(s.ServiceAccount(t, "kube-system", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "endpoint-controller" {
			check(t, controller, endpointsOf("10.129.0.7"), nil)
			continue
		}
		check(t, controller, slice("10.129.0.7"), nil)
	}
	// What an administrator wrote may be changed in everything but its addresses.
	create(t, g.admin, slice("10.129.0.7"))
	labelled := slice("10.129.0.7")
	labelled.Labels = map[string]string{"a": "b"}
	check(t, g.tenant, labelled, nil)
	check(t, g.tenant, slice("10.129.0.7", "10.129.0.8"), []string{"10.129.0.8 is inside"})
}

// TestWithoutTheNetworkNothingIsRefused: the policies are installed with the operator, also where another network is in use.
func TestWithoutTheNetworkNothingIsRefused(t *testing.T) {
	g := newGuarded(t)
	guard := &networkoperatorv1.NetworkGuard{ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkGuardName}}
	if err := g.admin.Get(t.Context(), client.ObjectKeyFromObject(guard), guard); err != nil {
		t.Fatal(err)
	}
	guard.Data["spec.defaultNetwork.type"] = "OVNKubernetes"
	if err := g.admin.Update(t.Context(), guard); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "another network is in use", func() (string, bool) {
		for _, o := range []client.Object{netNamespace(4711, "10.128.0.7"), hostSubnet(func(h *sdnv1.HostSubnet) { h.Subnet = "" }), slice("10.129.0.7"), endpointsOf("10.129.0.7")} {
			by := g.admin
			if o.GetNamespace() != "" {
				by = g.tenant
			}
			if err := by.Create(t.Context(), o, client.DryRunAll); err != nil {
				return err.Error(), false
			}
		}
		return "", true
	})
}
