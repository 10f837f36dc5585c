// Package admission is what the API server refuses by itself: changes that would cut a network in use, and the deletion of
// what it stands on. There is no webhook, since a webhook needs the network. Policies compare what a user writes with
// what is applied, which the operator keeps in the NetworkGuard; while there is none, or a policy cannot tell, nothing
// is refused. The operator's own check stays the second line: it alone knows what a configuration means once its defaults
// are filled in, and what nodes tell.
//
// The policies are made from the same table that says what a change of each field means.
package admission

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Component is the part of the network that the NetworkGuard belongs to.
const Component = "Admission"

// Keys of the data: paths of fields, and what is no field.
const (
	keyAcknowledged = "acknowledged"
	keyGrow         = "pools-grow"
	keyConvert      = "families-convert"
	keyType         = "spec.defaultNetwork.type"
	keyCIDRs        = "spec.clusterNetwork.cidr"
	keyHostPrefixes = "spec.clusterNetwork.hostPrefix"
	keyServices     = "spec.serviceNetwork"
	keyServiceCIDR  = "service-cidr"
	keyUnserved     = "unserved-without-kube-proxy"
	keyFixedCIDRs   = "service-cidrs-fixed"
)

// Applied is what is applied, as far as the API server is to know it.
type Applied struct {
	// Spec is filled, and Traits are those of its network.
	Spec   *operatorv1.NetworkSpec
	Traits provider.Traits
	// Cluster are the facts that it was filled with, and how far a change of the MTU has come.
	Cluster facts.Cluster
	// Acknowledged is the hash that was used up last; empty if none was.
	Acknowledged string
}

// Object is the NetworkGuard for what is applied.
func Object(registry pipeline.Registry, a Applied) (manifest.Object, error) {
	all, err := data(registry, a)
	if err != nil {
		return manifest.Object{}, fmt.Errorf("generate the admission policies of the network: %w", err)
	}
	g := &networkoperatorv1.NetworkGuard{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkoperatorv1.GroupVersion.String(), Kind: "NetworkGuard"},
		ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkGuardName},
		Data:       all,
	}
	o, err := manifest.New(g, manifest.Policy{IgnoreMissingKind: true})
	if err != nil {
		return manifest.Object{}, fmt.Errorf("generate the admission policies of the network: %w", err)
	}
	manifest.Stamp(o, Component, "")
	return o, nil
}

func data(registry pipeline.Registry, a Applied) (map[string]string, error) {
	spec := a.Spec
	d := map[string]string{
		keyAcknowledged: a.Acknowledged,
		keyGrow:         strconv.FormatBool(a.Traits.GrowPools), keyConvert: strconv.FormatBool(a.Traits.ConvertDualStack),
		keyServices: strings.Join(masked(spec.ServiceNetwork), ","),
	}
	if !a.Traits.ServiceCIDRs {
		d[keyFixedCIDRs] = "true"
	}
	if deploys := spec.DeployKubeProxy; deploys != nil && *deploys && registry.NeedsKubeProxy(a.Traits.Type, a.Cluster) {
		d[keyUnserved] = "true"
	}
	if right := pipeline.CorrectedServices(spec.ServiceNetwork, a.Cluster.Services); right != nil {
		d[keyServiceCIDR] = strings.Join(masked(right), ",")
	}
	var cidrs, prefixes []string
	for _, e := range spec.ClusterNetwork {
		cidrs = append(cidrs, e.CIDR)
		prefixes = append(prefixes, strconv.FormatUint(uint64(e.HostPrefix), 10))
	}
	d[keyCIDRs], d[keyHostPrefixes] = strings.Join(masked(cidrs), ","), strings.Join(prefixes, ",")
	fields := registry.Fields(a.Traits.Type)
	fixedData(d, fields, provider.ValuesOf(spec))
	return d, migrationData(d, registry, fields, a)
}

// fixedData adds the values of the fields that have a rule, by their paths.
func fixedData(d map[string]string, fields []provider.Field, values provider.Values) {
	for _, f := range fields {
		switch {
		case f.Fixed == "":
		case len(f.Choice) > 0:
			d[f.Path] = f.Chosen(values)
		default:
			for _, l := range f.Leaves(fields) {
				if value := cmp.Or(l.Text(values), f.LeftOut); value != "" || f.Unset {
					d[l.Path] = value
				}
			}
		}
	}
}

// masked are CIDRs without host bits. What is none stays as it is.
func masked(cidrs []string) []string {
	all := make([]string, len(cidrs))
	for i, c := range cidrs {
		all[i] = c
		if p, err := netip.ParsePrefix(c); err == nil {
			all[i] = p.Masked().String()
		}
	}
	return all
}
