// Package admission defines the admission policies of the operator: they refuse changes that would interrupt a network in
// use, and the deletion of objects that it depends on. There is no webhook, since a webhook depends on the network. Policies
// compare the object of a request with the applied configuration in the NetworkGuard; without one, or if a policy cannot
// decide, the request is allowed. The operator checks changes again, since only it knows defaults and the state of nodes.
//
// The policies are generated from the table of fields that describes the effect of a change of each field.
package admission

import (
	"cmp"
	"fmt"
	"maps"
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

// Component is the component label of the NetworkGuard.
const Component = "Admission"

// Keys of the data that are not paths of fields.
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

// Applied is the applied configuration for the NetworkGuard.
type Applied struct {
	// Spec is filled, and Traits are those of its network.
	Spec   *operatorv1.NetworkSpec
	Traits provider.Traits
	// Cluster has the facts with which it was filled, and the progress of an MTU migration.
	Cluster facts.Cluster
	// Acknowledged is the last hash that was used up; empty if there is none.
	Acknowledged string
}

// Object returns the NetworkGuard for the applied configuration.
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
	for _, g := range registry.Operands().Guards {
		if g.Data != nil {
			maps.Copy(d, g.Data(spec))
		}
	}
	return d, migrationData(d, registry, fields, a)
}

// fixedData adds the values of the fields that have a rule, by path.
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

// masked returns CIDRs without host bits. Invalid ones are not changed.
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
