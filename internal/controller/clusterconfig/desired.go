package clusterconfig

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// desired are the values of a Network.config for Network.operator.
type desired struct {
	cluster []operatorv1.ClusterNetworkEntry
	service []string
	network operatorv1.NetworkType
	// acknowledged is the value of the annotation that acknowledges a change; empty if there is none.
	acknowledged string
}

// desiredFrom reads a Network.config.
func desiredFrom(config *configv1.Network) desired {
	w := desired{
		service: slices.Clone(config.Spec.ServiceNetwork), network: operatorv1.NetworkType(config.Spec.NetworkType),
		acknowledged: config.Annotations[pipeline.AcknowledgeAnnotation],
	}
	for _, e := range config.Spec.ClusterNetwork {
		w.cluster = append(w.cluster, operatorv1.ClusterNetworkEntry{CIDR: e.CIDR, HostPrefix: e.HostPrefix})
	}
	return w
}

// over returns a copy of a specification with the desired values.
func (w desired) over(base *operatorv1.NetworkSpec) *operatorv1.NetworkSpec {
	out := base.DeepCopy()
	out.ClusterNetwork, out.ServiceNetwork = slices.Clone(w.cluster), slices.Clone(w.service)
	out.DefaultNetwork.Type = w.network
	return out
}

// same reports whether a specification has the desired values.
func (w desired) same(spec *operatorv1.NetworkSpec) bool { return len(w.differences(spec)) == 0 }

// differences returns the paths of the fields that differ from the desired values.
func (w desired) differences(spec *operatorv1.NetworkSpec) []string {
	var fields []string
	if !slices.Equal(w.cluster, spec.ClusterNetwork) {
		fields = append(fields, clusterPath.String())
	}
	if !slices.Equal(w.service, spec.ServiceNetwork) {
		fields = append(fields, servicePath.String())
	}
	if w.network != spec.DefaultNetwork.Type {
		fields = append(fields, typeField)
	}
	return fields
}

// matches reports whether a Network.operator, which may be nil, has the desired values and annotation.
func (w desired) matches(network *operatorv1.Network) bool {
	return network != nil && w.same(&network.Spec) &&
		(w.acknowledged == "" || w.acknowledged == network.Annotations[pipeline.AcknowledgeAnnotation])
}

// object returns the apply configuration with exactly these fields.
func (w desired) object() *unstructured.Unstructured {
	pools := make([]any, 0, len(w.cluster))
	for _, e := range w.cluster {
		entry := map[string]any{"cidr": e.CIDR}
		if e.HostPrefix != 0 {
			entry["hostPrefix"] = int64(e.HostPrefix)
		}
		pools = append(pools, entry)
	}
	services := make([]any, 0, len(w.service))
	for _, s := range w.service {
		services = append(services, s)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"clusterNetwork": pools, "serviceNetwork": services, "defaultNetwork": map[string]any{"type": string(w.network)},
	}}}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	u.SetName(operatorv1.NetworkName)
	if w.acknowledged != "" {
		u.SetAnnotations(map[string]string{pipeline.AcknowledgeAnnotation: w.acknowledged})
	}
	return u
}
