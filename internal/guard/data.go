// Package guard is what the API server refuses by itself: changes that would cut a network in use, and the deletion of
// what it stands on. There is no webhook, since a webhook needs the network. Policies compare what a user writes with
// what is applied, which the operator keeps in the NetworkGuard; while there is none, or a policy cannot tell, nothing
// is refused. The operator's own check stays the second line.
//
// The policies are made from the same table that says what a change of each field means.
package guard

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Component is the part of the network that the NetworkGuard belongs to.
const Component = "Admission"

// The keys of the data that are no path of a field.
const (
	keyAcknowledged = "acknowledged"
	keyGrow         = "pools-grow"
	keyConvert      = "families-convert"
	keyEtcd         = "spec.defaultNetwork.flannelConfig.etcd"
	keyCIDRs        = "spec.clusterNetwork.cidr"
	keyHostPrefixes = "spec.clusterNetwork.hostPrefix"
	keyServices     = "spec.serviceNetwork"
	keyMulti        = "spec.disableMultiNetwork"
)

// Object is the NetworkGuard for a filled specification. acknowledged is the hash that was used up last; empty if none
// was.
func Object(spec *operatorv1.NetworkSpec, t provider.Traits, fields []provider.Field, acknowledged string) (manifest.Object, error) {
	g := &networkoperatorv1.NetworkGuard{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkoperatorv1.GroupVersion.String(), Kind: "NetworkGuard"},
		ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkGuardName},
		Data:       data(spec, t, fields, acknowledged),
	}
	o, err := manifest.New(g, manifest.Policy{IgnoreMissingKind: true})
	if err != nil {
		return manifest.Object{}, fmt.Errorf("make the guard of the network: %w", err)
	}
	manifest.Stamp(o, Component, "")
	return o, nil
}

func data(spec *operatorv1.NetworkSpec, t provider.Traits, fields []provider.Field, acknowledged string) map[string]string {
	d := map[string]string{
		keyAcknowledged: acknowledged,
		// Nothing else moves during a migration.
		keyGrow: strconv.FormatBool(t.GrowPools && (spec.Migration == nil || spec.Migration.MTU == nil)), keyConvert: strconv.FormatBool(t.ConvertDualStack),
		keyServices: strings.Join(masked(spec.ServiceNetwork), ","),
		keyMulti:    strconv.FormatBool(spec.DisableMultiNetwork != nil && *spec.DisableMultiNetwork),
	}
	var cidrs, prefixes []string
	for _, e := range spec.ClusterNetwork {
		cidrs = append(cidrs, e.CIDR)
		prefixes = append(prefixes, strconv.FormatUint(uint64(e.HostPrefix), 10))
	}
	d[keyCIDRs], d[keyHostPrefixes] = strings.Join(masked(cidrs), ","), strings.Join(prefixes, ",")
	if c := spec.DefaultNetwork.FlannelConfig; c != nil && c.Etcd != nil {
		d[keyEtcd] = "managed"
		if c.Etcd.External != nil {
			d[keyEtcd] = "external"
		}
	}
	for _, f := range fields {
		if f.Fixed == "" {
			continue
		}
		if value, ok := pipeline.Value(spec, f.Path); ok || f.Unset {
			d[f.Path] = value
		}
	}
	return d
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
