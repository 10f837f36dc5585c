package infrastructureconfig

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// specOf is the specification that is applied: the fields that are kept in line and no others, since who applies a field
// owns it.
func specOf(infra *configv1.Infrastructure) *unstructured.Unstructured {
	s := siteOf(infra)
	if s == nil || s.desired == nil {
		return object(nil)
	}
	d := s.desired
	return object(map[string]any{"spec": map[string]any{"platformSpec": map[string]any{s.name: map[string]any{
		"apiServerInternalIPs": list(*d.api), "ingressIPs": list(*d.ingress), "machineNetworks": list(*d.machines),
	}}}})
}

// statusOf is the status that is applied, likewise.
func statusOf(infra *configv1.Infrastructure) *unstructured.Unstructured {
	s := siteOf(infra)
	if s == nil {
		return object(nil)
	}
	fields := map[string]any{"apiServerInternalIPs": list(*s.api.many), "ingressIPs": list(*s.ingress.many)}
	for name, one := range map[string]*string{"apiServerInternalIP": s.api.one, "ingressIP": s.ingress.one} {
		if *one != "" {
			fields[name] = *one
		}
	}
	// Lists that are not there yet stay away: there is a difference to empty ones.
	if d := s.desired; d != nil && *d.inForce != nil {
		fields["machineNetworks"] = list(*d.inForce)
	}
	return object(map[string]any{"status": map[string]any{"platformStatus": map[string]any{s.name: fields}}})
}

func object(content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	if u.Object == nil {
		u.Object = map[string]any{}
	}
	u.SetGroupVersionKind(configv1.GroupVersion.WithKind("Infrastructure"))
	u.SetName(infrastructureName)
	return u
}

func list[T ~string](values []T) []any {
	out := make([]any, 0, len(values))
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}
