package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/networks/randomedittest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{"networks.config.openshift.io"}, CRDs: apitest.ReadCRDs("providers/multus/assets/definitions")})
}

// cluster is known well enough to fill a specification.
var cluster = facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v1"}

// inUse is the network in use, as its user wrote it.
func inUse(change ...func(*operatorv1.NetworkSpec)) *operatorv1.Network {
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

// server is an API server with the policies, and a network in use.
type server struct {
	*apitest.Server
	t        testing.TB
	pipeline pipeline.Pipeline
	filled   *operatorv1.NetworkSpec
	network  *operatorv1.Network
	cluster  facts.Cluster
	// name is that of the test among those that share an API server.
	name string
}

// keyTest is the field in which a policy names the test that it belongs to.
const keyTest = "test"

func newServer(t testing.TB, network *operatorv1.Network, progress ...facts.MTUMigration) *server {
	t.Helper()
	d := withoutPolicies(t, network, progress...)
	policies, bindings := Policies(d.pipeline.Registry.Fields(""), d.pipeline.Registry.Operands())
	for i := range policies {
		d.Create(t, &policies[i])
		d.Create(t, &bindings[i])
	}
	d.awaitPolicies()
	t.Cleanup(d.allowDeletion)
	return d
}

// withoutPolicies is an API server with a network in use, and nothing that guards it.
// progress is how far a change of its MTU has come: the network was applied before it, and is applied again since.
func withoutPolicies(t testing.TB, network *operatorv1.Network, progress ...facts.MTUMigration) *server {
	t.Helper()
	d := &server{Server: apitest.Shared(t), t: t, pipeline: pipeline.Pipeline{Registry: networks.Registry()}, network: network, cluster: cluster, name: fmt.Sprintf("test-%d", time.Now().UnixNano())}
	before := network.Spec.DeepCopy()
	before.Migration = nil
	res, err := d.pipeline.Run(t.Context(), pipeline.Input{Desired: before, Cluster: cluster}, pipeline.Fill)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range progress {
		d.cluster.MTUMigration = p
		if res, err = d.pipeline.Run(t.Context(), pipeline.Input{Desired: &network.Spec, Applied: res.Spec, Cluster: d.cluster}, pipeline.Check); err != nil {
			t.Fatal(err)
		}
	}
	d.filled = res.Spec
	d.Create(t, network)
	o, err := Object(d.pipeline.Registry, Applied{Spec: res.Spec, Traits: res.Traits, Cluster: d.cluster})
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(o.Object.Object, d.name, "data", keyTest); err != nil {
		t.Fatal(err)
	}
	d.Create(t, o.Object)
	return d
}

// allowDeletion annotates the network.
func (d *server) allowDeletion() {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, AllowDeletion)
	if err := d.Client.Patch(context.Background(), d.network, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		d.t.Error(err)
	}
}

// awaitPolicies waits until the API server enforces the policies and the guard of this test, and not those of the test before it,
// which stay active for a while. A policy that was created after all others shows that they are active: it names itself,
// since the last one of the test before would answer, too, and the guard that it sees.
func (d *server) awaitPolicies() {
	d.t.Helper()
	last := policy("last", []admissionv1.NamedRuleWithOperations{on("", "configmaps", []admissionv1.OperationType{admissionv1.Create})})
	last.Name = d.name
	last.Spec.Validations = []admissionv1.Validation{{Expression: "object.metadata.name != 'policies-active'", MessageExpression: fmt.Sprintf("%q + string(params.data[%q])", d.name+" has the guard of ", keyTest)}}
	d.Create(d.t, &last)
	allow := admissionv1.AllowAction
	d.Create(d.t, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: last.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: last.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			ParamRef: &admissionv1.ParamRef{Name: networkoperatorv1.NetworkGuardName, ParameterNotFoundAction: &allow},
		},
	})
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "policies-active"}}
	eventually.Succeeds(d.t, "the policies are in effect", func() error {
		err := d.Client.Create(d.t.Context(), probe.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+d.name+" has the guard of "+d.name) {
			return fmt.Errorf("the policies are not in effect: %v", err)
		}
		return nil
	})
}

// edit returns the response of the API server to a dry-run edit of the network.
func (d *server) edit(change func(*operatorv1.NetworkSpec), annotations ...string) error {
	next := d.network.DeepCopy()
	change(&next.Spec)
	if len(annotations) > 0 {
		next.Annotations = map[string]string{pipeline.AcknowledgeAnnotation: annotations[0]}
	}
	return d.Client.Update(d.t.Context(), next, client.DryRunAll)
}

// check is what the operator thinks of it.
func (d *server) check(change func(*operatorv1.NetworkSpec)) (pipeline.Result, error) {
	next := d.network.DeepCopy()
	change(&next.Spec)
	return d.pipeline.Run(d.t.Context(), pipeline.Input{Desired: &next.Spec, Applied: d.filled, Revision: 3, Cluster: d.cluster}, pipeline.Check)
}

// byPolicy reports whether it was a policy that refused, and not the CRD.
func byPolicy(err error) bool { return strings.Contains(err.Error(), "ValidatingAdmissionPolicy") }

// TestAdmissionAndOperatorAgree is the promise that what kubectl apply takes, the operator applies, and that what the
// operator would refuse does not get in.
func TestAdmissionAndOperatorAgree(t *testing.T) {
	const each = 1000
	for name, network := range map[string]*operatorv1.Network{
		"host-gw": inUse(),
		"vxlan":   inUse(func(s *operatorv1.NetworkSpec) { randomedittest.Flannel(s).Backend = "vxlan" }),
		"external": inUse(func(s *operatorv1.NetworkSpec) {
			randomedittest.Etcd(s).External = &operatorv1.FlannelExternalEtcd{Endpoints: []string{"http://192.0.2.1:2379"}}
		}),
		"foreign": inUse(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = "Calico" }),
	} {
		t.Run(name, func(t *testing.T) { newServer(t, network).agrees(each, each/20) })
	}
}

// agrees compares admission and the operator with random edits. Some must be accepted, and some refused.
func (d *server) agrees(each uint64, atLeast int) {
	t := d.t
	results := map[bool]int{}
	for seed := range each {
		what, change := randomedittest.New(seed)
		refusal := d.edit(change)
		if apierrors.IsInvalid(refusal) && !byPolicy(refusal) {
			continue // the CRD refuses it in any case
		}
		_, err := d.check(change)
		if err != nil && pipeline.StageOf(err) != pipeline.Check {
			if refusal == nil && pipeline.RefusalsOf(err).Has(pipeline.RuleMigrationMTU) {
				t.Errorf("seed %d (%s): admission returns nothing, the operator returns %v", seed, what, err)
			}
			continue // invalid in itself
		}
		results[refusal != nil]++
		if (refusal == nil) != (err == nil) {
			t.Errorf("seed %d (%s):\nadmission returns %v\nthe operator returns %v", seed, what, refusal, err)
		}
		if refusal != nil && err != nil && !slices.ContainsFunc(pipeline.RefusalsOf(err), func(r pipeline.Refusal) bool {
			return strings.Contains(refusal.Error(), "("+r.Rule+")") || strings.Contains(refusal.Error(), "-change)")
		}) {
			t.Errorf("seed %d (%s): %s names no rule of %v", seed, what, refusal, err)
		}
	}
	if results[true] < atLeast || results[false] < atLeast {
		t.Errorf("of %d edits, %d were refused and %d accepted: that proves little", each, results[true], results[false])
	}
}

func TestAcknowledgedChangeIsAdmitted(t *testing.T) {
	d := newServer(t, inUse())
	vxlan := func(s *operatorv1.NetworkSpec) { randomedittest.Flannel(s).Backend = "vxlan" }
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

func TestOneMessageHasAllErrors(t *testing.T) {
	d := newServer(t, inUse())
	err := d.edit(func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork[0].CIDR, s.ServiceNetwork[0], randomedittest.Flannel(s).Backend = "10.200.0.0/16", "172.30.0.0/16", "vxlan"
	})
	if err == nil {
		t.Fatal("the edit is accepted")
	}
	for _, want := range []string{
		`spec.clusterNetwork: "10.244.0.0/16" -> "10.200.0.0/16"`, `spec.serviceNetwork: "10.96.0.0/16" -> "172.30.0.0/16"`,
		`spec.defaultNetwork.flannelConfig.backend: "host-gw" -> "vxlan"`, "put the old value back", "(cluster-network-change)", "(flannel-backend-change)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not contain %q:\n%v", want, err)
		}
	}
}

func TestOnlyGrowthOfPoolsIsAdmitted(t *testing.T) {
	pools := func(cidrs ...string) func(*operatorv1.NetworkSpec) {
		return func(s *operatorv1.NetworkSpec) {
			s.ClusterNetwork = nil
			for _, c := range cidrs {
				s.ClusterNetwork = append(s.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: c, HostPrefix: 24})
			}
		}
	}
	for _, of := range []operatorv1.NetworkType{operatorv1.NetworkTypeFlannel, "Calico"} {
		t.Run(string(of), func(t *testing.T) {
			d := newServer(t, inUse(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = of }))
			for _, tt := range []struct {
				why     string
				change  func(*operatorv1.NetworkSpec)
				allowed bool
			}{
				{"a shorter prefix that begins at the same address", pools("10.244.0.0/14"), true},
				{"a longer prefix: nodes hold blocks outside it", pools("10.244.0.0/17"), false},
				{"a larger pool with another base, although it contains the old one", pools("10.240.0.0/12"), false},
				{"a second pool", pools("10.244.0.0/16", "10.10.0.0/16"), false},
				{"none at all: omitted pools keep their applied values", pools(), true},
				{"an empty specification", func(s *operatorv1.NetworkSpec) { *s = operatorv1.NetworkSpec{} }, true},
				{"only another Service CIDR", func(s *operatorv1.NetworkSpec) {
					*s = operatorv1.NetworkSpec{ServiceNetwork: []string{"10.97.0.0/16"}}
				}, false},
				{"a pool that grows, with another length of blocks", func(s *operatorv1.NetworkSpec) { pools("10.244.0.0/15")(s); s.ClusterNetwork[0].HostPrefix = 25 }, false},
			} {
				if err := d.edit(tt.change); (err == nil) != tt.allowed {
					t.Errorf("%s: %v", tt.why, err)
				}
				if _, err := d.check(tt.change); (err == nil) != tt.allowed {
					t.Errorf("the operator, %s: %v", tt.why, err)
				}
			}
		})
	}
}

func TestUnsafeChangeIsAdmittedWithTheAnnotation(t *testing.T) {
	d := newServer(t, inUse())
	next := d.network.DeepCopy()
	next.Annotations = map[string]string{AllowUnsafe: "true"}
	next.Spec.ClusterNetwork[0].CIDR = "10.200.0.0/16"
	if err := d.Client.Update(t.Context(), next, client.DryRunAll); err != nil {
		t.Errorf("it is refused: %v", err)
	}
}

func TestTheOperatorItselfIsNeverRefused(t *testing.T) {
	d := newServer(t, inUse())
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

func TestDependenciesOfANetworkAreNotDeletedByAccident(t *testing.T) {
	d := newServer(t, inUse())
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
	d := newServer(t, inUse())
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
