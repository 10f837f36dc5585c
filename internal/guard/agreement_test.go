package guard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{"networks.config.openshift.io"}})
}

// cluster is known well enough to fill a specification.
var cluster = facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v1"}

// applied is the network in use, as its user wrote it.
func applied(change ...func(*operatorv1.NetworkSpec)) *operatorv1.Network {
	n := &operatorv1.Network{Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel},
	}}
	n.Name = operatorv1.NetworkName
	for _, f := range change {
		f(&n.Spec)
	}
	return n
}

// door is an API server with the policies, and a network in use.
type door struct {
	*apitest.Server
	t        testing.TB
	pipeline pipeline.Pipeline
	filled   *operatorv1.NetworkSpec
	network  *operatorv1.Network
}

func newDoor(t testing.TB, network *operatorv1.Network) *door {
	t.Helper()
	d := withoutPolicies(t, network)
	policies, bindings := Policies(d.pipeline.Registry.Fields(""))
	for i := range policies {
		d.Create(t, &policies[i])
		d.Create(t, &bindings[i])
	}
	d.inForce()
	t.Cleanup(d.allowDeletion)
	return d
}

// withoutPolicies is an API server with a network in use, and nothing that guards it.
func withoutPolicies(t testing.TB, network *operatorv1.Network) *door {
	t.Helper()
	d := &door{Server: apitest.Shared(t), t: t, pipeline: pipeline.Pipeline{Registry: networks.Registry()}, network: network}
	res, err := d.pipeline.Run(t.Context(), pipeline.Input{Desired: &network.Spec, Cluster: cluster}, pipeline.Fill)
	if err != nil {
		t.Fatal(err)
	}
	d.filled = res.Spec
	d.Create(t, network)
	o, err := Object(res.Spec, res.Traits, d.pipeline.Registry.Fields(res.Traits.Type), "")
	if err != nil {
		t.Fatal(err)
	}
	d.Create(t, o.Object)
	return d
}

// allowDeletion annotates the network.
func (d *door) allowDeletion() {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, AllowDeletion)
	if err := d.Client.Patch(context.Background(), d.network, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		d.t.Error(err)
	}
}

// inForce waits until the API server refuses what it must refuse.
func (d *door) inForce() {
	d.t.Helper()
	eventually(d.t, func() error {
		edited := d.edit(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.200.0.0/16" })
		if edited == nil || d.Client.Delete(d.t.Context(), d.network, client.DryRunAll) == nil {
			return errors.New("the policies are not in force")
		}
		return nil
	})
}

// eventually waits until a function succeeds.
func eventually(t testing.TB, f func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// edit has the API server say what it thinks of an edit of the network, without making it.
func (d *door) edit(change func(*operatorv1.NetworkSpec), annotations ...string) error {
	next := d.network.DeepCopy()
	change(&next.Spec)
	if len(annotations) > 0 {
		next.Annotations = map[string]string{pipeline.AcknowledgeAnnotation: annotations[0]}
	}
	return d.Client.Update(d.t.Context(), next, client.DryRunAll)
}

// check is what the operator thinks of it.
func (d *door) check(change func(*operatorv1.NetworkSpec)) (pipeline.Result, error) {
	next := d.network.DeepCopy()
	change(&next.Spec)
	return d.pipeline.Run(d.t.Context(), pipeline.Input{Desired: &next.Spec, Applied: d.filled, Revision: 3, Cluster: cluster}, pipeline.Check)
}

// kinds are the changes that random edits are put together of.
var kinds = map[string]func(*operatorv1.NetworkSpec, *rand.Rand){
	"log level": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		s.LogLevel = pick[osv1.LogLevel](r, "", "Debug", "Trace")
	},
	"state": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		s.ManagementState = pick[osv1.ManagementState](r, "Managed", "Unmanaged")
	},
	"kube-proxy": func(s *operatorv1.NetworkSpec, r *rand.Rand) { s.DeployKubeProxy = new(r.IntN(2) == 0) },
	"proxy sync": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
		s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "20s"}
	},
	"diagnostics": func(s *operatorv1.NetworkSpec, _ *rand.Rand) { s.DisableNetworkDiagnostics = true },
	"multi":       func(s *operatorv1.NetworkSpec, r *rand.Rand) { s.DisableMultiNetwork = new(r.IntN(2) == 0) },
	"cidr": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		s.ClusterNetwork[0].CIDR = pick(r, "10.244.0.0/16", "10.244.0.0/15", "10.244.0.0/17", "10.128.0.0/14")
	},
	"host prefix": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		s.ClusterNetwork[0].HostPrefix = pick[uint32](r, 23, 24, 25)
	},
	"second pool": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
		s.ClusterNetwork = append(s.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: "10.10.0.0/16", HostPrefix: 24})
	},
	"services": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		s.ServiceNetwork = []string{pick(r, "10.96.0.0/16", "10.96.0.0/12", "172.30.0.0/16")}
	},
	"type": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		s.DefaultNetwork.Type = pick[operatorv1.NetworkType](r, "Flannel", "flannel", "Calico")
	},
	"backend": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		flannel(s).Backend = pick[operatorv1.FlannelBackend](r, "", "host-gw", "vxlan")
	},
	"mtu": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		flannel(s).MTU = pick(r, nil, new(uint32(1500)), new(uint32(1400)))
	},
	"interface": func(s *operatorv1.NetworkSpec, r *rand.Rand) { flannel(s).Interface = pick(r, "", "eth0", "eth1") },
	"vni": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		flannel(s).Backend, flannel(s).VXLAN = "vxlan", &operatorv1.FlannelVXLAN{VNI: pick(r, nil, new(uint32(1)), new(uint32(7))), Port: pick(r, nil, new(uint32(4789)))}
	},
	"prefix": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		etcd(s).Prefix = pick(r, "", "/coreos.com/network", "/other")
	},
	"managed": func(s *operatorv1.NetworkSpec, r *rand.Rand) {
		etcd(s).Managed = &operatorv1.FlannelManagedEtcd{ClientPort: pick(r, nil, new(uint32(12379)), new(uint32(22379))), PeerPort: pick(r, nil, new(uint32(22380))), DataDir: pick(r, "", "/var/lib/other")}
	},
	"external": func(s *operatorv1.NetworkSpec, _ *rand.Rand) {
		etcd(s).External = &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://192.0.2.1:2379"}}
	},
}

// byPolicy reports whether it was a policy that refused, and not the definition of the kind.
func byPolicy(err error) bool { return strings.Contains(err.Error(), "ValidatingAdmissionPolicy") }

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func flannel(s *operatorv1.NetworkSpec) *operatorv1.FlannelConfig {
	if s.DefaultNetwork.FlannelConfig == nil {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{}
	}
	return s.DefaultNetwork.FlannelConfig
}

func etcd(s *operatorv1.NetworkSpec) *operatorv1.FlannelEtcd {
	if flannel(s).Etcd == nil {
		flannel(s).Etcd = &operatorv1.FlannelEtcd{}
	}
	return flannel(s).Etcd
}

// randomEdit puts together some changes. The same seed gives the same edit.
func randomEdit(seed uint64) (string, func(*operatorv1.NetworkSpec)) {
	r := rand.New(rand.NewPCG(seed, 1))
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names) // a map has no order, and the same seed has to give the same edit
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+r.IntN(3)]
	return strings.Join(names, ", "), func(s *operatorv1.NetworkSpec) {
		again := rand.New(rand.NewPCG(seed, 2))
		for _, name := range names {
			kinds[name](s, again)
		}
	}
}

// TestTheDoorAndTheOperatorAgree is the promise that what kubectl apply takes, the operator applies, and that what the
// operator would refuse does not get in.
func TestTheDoorAndTheOperatorAgree(t *testing.T) {
	const each = 1000
	for name, network := range map[string]*operatorv1.Network{
		"host-gw": applied(),
		"vxlan":   applied(func(s *operatorv1.NetworkSpec) { flannel(s).Backend = "vxlan" }),
		"external": applied(func(s *operatorv1.NetworkSpec) {
			etcd(s).External = &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://192.0.2.1:2379"}}
		}),
		"foreign": applied(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = "Calico" }),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, network)
			told := map[bool]int{}
			for seed := range uint64(each) {
				what, change := randomEdit(seed)
				door := d.edit(change)
				if apierrors.IsInvalid(door) && !byPolicy(door) {
					continue // the definition of the kind says so, whatever is applied
				}
				_, err := d.check(change)
				if err != nil && pipeline.StageOf(err) != pipeline.Check {
					continue // invalid in itself
				}
				told[door != nil]++
				if (door == nil) != (err == nil) {
					t.Errorf("seed %d (%s):\nthe door says %v\nthe operator says %v", seed, what, door, err)
				}
				for _, r := range pipeline.RefusalsOf(err) {
					if door != nil && !strings.Contains(door.Error(), r.Rule) && !strings.Contains(door.Error(), "-change)") {
						t.Errorf("seed %d (%s): %s names no rule", seed, what, door)
					}
				}
			}
			if told[true] < each/20 || told[false] < each/20 {
				t.Errorf("of %d edits, %d were refused and %d accepted: that proves little", each, told[true], told[false])
			}
		})
	}
}

func TestAnAcknowledgedChangeGetsThroughTheDoor(t *testing.T) {
	d := newDoor(t, applied())
	vxlan := func(s *operatorv1.NetworkSpec) { flannel(s).Backend = "vxlan" }
	res, err := d.check(vxlan)
	if err == nil || res.Acknowledgement == "" {
		t.Fatalf("%v, %q", err, res.Acknowledgement)
	}
	if err := d.edit(vxlan); err == nil || !strings.Contains(err.Error(), pipeline.AcknowledgeAnnotation) {
		t.Errorf("without an acknowledgement: %v", err)
	}
	if err := d.edit(vxlan, res.Acknowledgement); err != nil {
		t.Errorf("with one: %v", err)
	}
	forbidden := func(s *operatorv1.NetworkSpec) { vxlan(s); s.ClusterNetwork[0].HostPrefix = 25 }
	if err := d.edit(forbidden, res.Acknowledgement); err == nil {
		t.Error("an acknowledgement lets a forbidden change through, too")
	}
}

func TestOneMessageSaysEverything(t *testing.T) {
	d := newDoor(t, applied())
	err := d.edit(func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork[0].CIDR, s.ServiceNetwork[0], flannel(s).Backend = "10.200.0.0/16", "172.30.0.0/16", "vxlan"
	})
	if err == nil {
		t.Fatal("the edit is accepted")
	}
	for _, want := range []string{
		`spec.clusterNetwork: "10.244.0.0/16" -> "10.200.0.0/16"`, `spec.serviceNetwork: "10.96.0.0/16" -> "172.30.0.0/16"`,
		`spec.defaultNetwork.flannelConfig.backend: "host-gw" -> "vxlan"`, "put the old value back", "(cluster-network-change)", "(flannel-backend-change)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not say %q:\n%v", want, err)
		}
	}
}

func TestAnUnsafeChangeIsStoredWhenSomebodySaysSo(t *testing.T) {
	d := newDoor(t, applied())
	next := d.network.DeepCopy()
	next.Annotations = map[string]string{AllowUnsafe: "true"}
	next.Spec.ClusterNetwork[0].CIDR = "10.200.0.0/16"
	if err := d.Client.Update(t.Context(), next, client.DryRunAll); err != nil {
		t.Errorf("it is refused: %v", err)
	}
}

func TestTheOperatorItselfIsNeverRefused(t *testing.T) {
	d := newDoor(t, applied())
	c, err := d.ClientFor(d.User(t, operator, "system:masters"))
	if err != nil {
		t.Fatal(err)
	}
	next := d.network.DeepCopy()
	next.Spec.ClusterNetwork[0].CIDR = "10.200.0.0/16"
	if err := c.Update(t.Context(), next, client.DryRunAll); err != nil {
		t.Errorf("the operator is refused: %v", err)
	}
}

func TestWhatANetworkStandsOnIsNotDeletedByAccident(t *testing.T) {
	d := newDoor(t, applied())
	err := d.Client.Delete(t.Context(), d.network, client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), AllowDeletion+"=true") {
		t.Errorf("Network/cluster: %v", err)
	}
	d.allowDeletion()
	if err := d.Client.Delete(t.Context(), d.network, client.DryRunAll); err != nil {
		t.Errorf("with the annotation: %v", err)
	}
}

func TestPoliciesHaveNoTypeErrors(t *testing.T) {
	d := newDoor(t, applied())
	var list admissionv1.ValidatingAdmissionPolicyList
	if err := d.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.Status.TypeChecking != nil && len(p.Status.TypeChecking.ExpressionWarnings) > 0 {
			t.Errorf("%s: %v", p.Name, p.Status.TypeChecking.ExpressionWarnings)
		}
	}
}
