package selection

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// ParseDefault reads the annotation of a pod that replaces its default network: one NetworkAttachmentDefinition of a namespace, which is the only one whose
// definitions can be default networks. A blank annotation returns nil. Keys without an effect on a default network are refused.
func ParseDefault(annotation, namespace string) (*Selection, field.ErrorList) {
	if strings.TrimSpace(annotation) == "" {
		return nil, nil
	}
	at := field.NewPath("metadata", "annotations").Key(wire.AnnotationDefault)
	all, errs := parse(annotation, namespace, at)
	if len(errs) == 0 && len(all) != 1 {
		errs = append(errs, field.Invalid(at, strictjson.Short(annotation), "must be the name of one NetworkAttachmentDefinition in namespace "+namespace))
	}
	for i, s := range all {
		if s.Namespace != namespace {
			errs = append(errs, field.Forbidden(at.Index(i).Child("namespace"), "definitions for the default network are only taken from namespace "+namespace))
		}
		errs = append(errs, withoutEffect(s, at.Index(i))...)
	}
	if len(errs) > 0 {
		return nil, errs.WithOrigin(Rule)
	}
	return &all[0], nil
}

// withoutEffect returns an error for each key of a selection that has no effect on a default network.
func withoutEffect(s Selection, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range []struct {
		name, reason string
		set          bool
	}{
		{"interface", "the container runtime names the interface of the default network; remove it", s.Interface != ""},
		{"default-route", "the default network has the default routes unless a further network asks for them; remove it", s.DefaultRoute},
		{"portMappings", "the default network has the host ports of the pod's containers; set hostPort there, and remove it", len(s.PortMappings) > 0},
		{"bandwidth", "the annotations kubernetes.io/ingress-bandwidth and kubernetes.io/egress-bandwidth limit the default network; use these, and remove it", s.Bandwidth != nil},
	} {
		if key.set {
			errs = append(errs, field.Forbidden(at.Child(key.name), key.reason))
		}
	}
	return errs
}
