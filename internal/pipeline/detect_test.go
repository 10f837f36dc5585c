package pipeline

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/declared"
	"github.com/cluster-network-operator/cno/internal/facts"
)

// declaredBy returns what a cluster declares with the configuration of kubeadm.
func declaredBy(kubeadm string) *facts.Declared {
	d := &facts.Declared{}
	d.Pods, d.Services = declared.Kubeadm(kubeadm)
	return d
}

const (
	kubeadmBoth = "networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}"
	fromPods    = " (from " + declared.KubeadmPods + ")"
	fromService = " (from " + declared.KubeadmServices + ")"
)

func TestOmittedFieldsAreDetected(t *testing.T) {
	cidr := &facts.Declared{Services: declared.Value{Source: ServiceCIDRSource, Pools: []declared.Pool{{CIDR: netip.MustParsePrefix("10.96.0.0/16")}}}}
	only := func(fields ...edit) *operatorv1.NetworkSpec {
		s := &operatorv1.NetworkSpec{}
		for _, f := range fields {
			f(s)
		}
		return s
	}
	kind := func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = operatorv1.NetworkTypeFlannel }
	foreign := func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = "Other" }
	pods := func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork = []operatorv1.ClusterNetworkEntry{{CIDR: "10.1.0.0/16", HostPrefix: 25}}
	}
	services := func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = []string{"10.2.0.0/16"} }
	applied := only(kind, pods, services)
	for _, row := range []struct {
		why               string
		desired           *operatorv1.NetworkSpec
		applied, recorded *operatorv1.NetworkSpec
		declared          *facts.Declared
		want              []string
	}{
		{"nothing is omitted", applied, nil, nil, declaredBy(kubeadmBoth), nil},
		{"everything is omitted on a new cluster", only(), nil, nil, declaredBy(kubeadmBoth),
			[]string{"spec.defaultNetwork.type: OVNKubernetes (from the default)", "spec.clusterNetwork: 10.244.0.0/16 (/24 a node)" + fromPods, "spec.serviceNetwork: 10.96.0.0/12" + fromService}},
		{"only the type", only(pods, services), nil, nil, declaredBy(kubeadmBoth), []string{"spec.defaultNetwork.type: OVNKubernetes (from the default)"}},
		{"only the pools of pods", only(kind, services), nil, nil, declaredBy(kubeadmBoth), []string{"spec.clusterNetwork: 10.244.0.0/16 (/24 a node)" + fromPods}},
		{"only the Service CIDR", only(kind, pods), nil, nil, declaredBy(kubeadmBoth), []string{"spec.serviceNetwork: 10.96.0.0/12" + fromService}},
		{"the API server itself states its Service CIDR", only(kind, pods), nil, nil, cidr, []string{"spec.serviceNetwork: 10.96.0.0/16 (from ServiceCIDR kubernetes)"}},
		{"a network of a third party needs no blocks", only(foreign, services), nil, nil, declaredBy(kubeadmBoth), []string{"spec.clusterNetwork: 10.244.0.0/16" + fromPods}},
		{"the applied configuration comes before what the cluster declares", only(), applied, nil, declaredBy(kubeadmBoth),
			[]string{"spec.defaultNetwork.type: Flannel (from the applied configuration)", "spec.clusterNetwork: 10.1.0.0/16 (/25 a node) (from the applied configuration)", "spec.serviceNetwork: 10.2.0.0/16 (from the applied configuration)"}},
		{"... each field alone", only(kind, services), applied, nil, declaredBy(kubeadmBoth), []string{"spec.clusterNetwork: 10.1.0.0/16 (/25 a node) (from the applied configuration)"}},
		{"... and also while a change is forced, because its record was deleted", only(kind, services), nil, applied, declaredBy(kubeadmBoth),
			[]string{"spec.clusterNetwork: 10.1.0.0/16 (/25 a node) (from the applied configuration)"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			known := cluster()
			known.Declared = row.declared
			res, err := newPipeline().Run(t.Context(), Input{Desired: row.desired, Applied: row.applied, Recorded: row.recorded, Cluster: known}, Check)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range res.Detected {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
			if Omits(res.Spec) || len(res.Changes) > 0 {
				t.Errorf("%+v, changes %v", res.Spec, res.Changes)
			}
		})
	}
}

func TestWhatIsNotDetectedIsRefused(t *testing.T) {
	const kind, pods, services = RuleTypeRequired, RuleClusterRequired, RuleServiceRequired
	withErr := declaredBy("networking: {podSubnet: everything, serviceSubnet: 10.96.0.0/12}")
	for _, row := range []struct {
		why      string
		desired  *operatorv1.NetworkSpec
		declared *facts.Declared
		nodes    map[string][]netip.Addr
		rules    []string
		// words are in the message about the pools of pods.
		words []string
	}{
		{"a cluster that declares nothing", &operatorv1.NetworkSpec{}, &facts.Declared{}, nil, []string{services, pods},
			[]string{"is required: the cluster does not declare it. The operator has looked for ", declared.KubeadmPods, declared.ControllerManagerPods, ". Write at least 1 entry"}},
		{"without a cluster", &operatorv1.NetworkSpec{}, facts.NoCluster(), nil, []string{kind, services, pods}, []string{"can only be detected in a cluster", "cno plan"}},
		{"where Network.config determines the fields", &operatorv1.NetworkSpec{}, nil, nil, []string{kind, services, pods}, []string{"must have at least 1 entry"}},
		{"a network whose record is lost", &operatorv1.NetworkSpec{}, facts.NoRecord(), nil, []string{kind, services, pods}, []string{"a network is in use"}},
		{"a source that cannot be used", &operatorv1.NetworkSpec{}, withErr, nil, []string{pods}, []string{declared.KubeadmPods + `: "everything" is not a CIDR. Write at least`}},
		{"... matters only if the field is omitted", spec(), withErr, nil, nil, nil},
		{"a detected pool with the address of a node", &operatorv1.NetworkSpec{}, declaredBy(kubeadmBoth), map[string][]netip.Addr{"n": {netip.MustParseAddr("10.244.3.4")}}, []string{RuleNodeAddress},
			[]string{"; the value is from " + declared.KubeadmPods + ", since spec.clusterNetwork is omitted"}},
		{"a detected pool of a family that the network lacks", spec(func(s *operatorv1.NetworkSpec) { s.ClusterNetwork = nil }), declaredBy("networking: {podSubnet: 'fd00::/48'}"), nil,
			[]string{RuleFamilySymmetry, RuleIPv6}, []string{"the value is from"}},
		{"a detected pool that is smaller than a block", &operatorv1.NetworkSpec{}, declaredBy("networking: {podSubnet: 10.244.0.0/25, serviceSubnet: 10.96.0.0/12}"), nil, []string{RuleHostPrefix},
			[]string{"the value is from"}},
		{"a detected pool that overlaps the Service CIDR", &operatorv1.NetworkSpec{}, declaredBy("networking: {podSubnet: 10.0.0.0/8, serviceSubnet: 10.96.0.0/12}"), nil, []string{RulePoolOverlap}, nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			known := cluster()
			known.Declared, known.NodeAddresses = row.declared, row.nodes
			_, err := newPipeline().Run(t.Context(), Input{Desired: row.desired, Cluster: known}, Validate)
			var broken []string
			message := ""
			for _, r := range RefusalsOf(err) {
				broken = append(broken, r.Rule)
				if strings.HasPrefix(r.Field, clusterPath.String()) {
					message += r.Message
				}
			}
			if diff := cmp.Diff(row.rules, broken); diff != "" {
				t.Errorf("%s\n%v", diff, err)
			}
			for _, word := range row.words {
				if !strings.Contains(message, word) {
					t.Errorf("%q does not contain %q", message, word)
				}
			}
		})
	}
	if _, err := newPipeline().ChoosePair(t.Context(), Input{Desired: &operatorv1.NetworkSpec{}, Applied: spec(), Cluster: cluster()}); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), "both are of type") {
		t.Errorf("an omitted type is another one: %v", err)
	}
}

func TestOnlyOneNetworkIsTheDefault(t *testing.T) {
	if got := (Registry{}).DefaultType(); got != "" {
		t.Errorf("of an empty registry: %q", got)
	}
	if got := registry().DefaultType(); got != operatorv1.NetworkTypeOVNKubernetes {
		t.Errorf("%q", got)
	}
	known := cluster()
	known.Declared = declaredBy(kubeadmBoth)
	flannel := Pipeline{Registry: Registry{Providers: slices.Clone(registry().Providers[:1])}}
	_, err := flannel.Run(t.Context(), Input{Desired: &operatorv1.NetworkSpec{}, Cluster: known}, Validate)
	if r := RefusalsOf(err); len(r) == 0 || r[0].Rule != RuleTypeRequired {
		t.Errorf("without a default network: %v", err)
	}
}
