package infrastructureconfig

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// specOf returns the specification to apply, with exactly the synchronized fields.
func specOf(infra *configv1.Infrastructure) *unstructured.Unstructured {
	s := platformOf(infra)
	if s == nil || s.desired == nil {
		return object(nil)
	}
	d := s.desired
	return object(map[string]any{"spec": map[string]any{"platformSpec": map[string]any{s.name: map[string]any{
		"apiServerInternalIPs": list(*d.api), "ingressIPs": list(*d.ingress), "machineNetworks": list(*d.machines),
	}}}})
}

// statusOf returns the status to apply, with exactly the synchronized fields.
func statusOf(infra *configv1.Infrastructure) *unstructured.Unstructured {
	s := platformOf(infra)
	if s == nil {
		return object(nil)
	}
	fields := map[string]any{"apiServerInternalIPs": list(*s.api.all), "ingressIPs": list(*s.ingress.all)}
	for name, single := range map[string]*string{"apiServerInternalIP": s.api.single, "ingressIP": s.ingress.single} {
		if *single != "" {
			fields[name] = *single
		}
	}
	// Missing lists stay missing, since they differ from empty ones.
	if d := s.desired; d != nil && *d.active != nil {
		fields["machineNetworks"] = list(*d.active)
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
