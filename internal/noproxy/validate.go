package noproxy

import (
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// IsSet reports whether a Proxy configures proxies. One that does not is valid, regardless of its other fields, and its
// status is empty.
func IsSet(spec *configv1.ProxySpec) bool {
	return spec.HTTPProxy != "" || spec.HTTPSProxy != "" || spec.NoProxy != ""
}

// Validate returns all errors in the specification of a Proxy that can be found without the cluster.
func Validate(spec *configv1.ProxySpec) field.ErrorList {
	at := field.NewPath("spec")
	errs := validateTrustedCA(spec, at.Child("trustedCA", "name"))
	if !IsSet(spec) {
		return errs
	}
	if spec.HTTPProxy == "" && spec.HTTPSProxy == "" {
		errs = append(errs, field.Required(at, "httpProxy or httpsProxy must be set when using proxy: noProxy alone has no effect"))
	}
	if spec.HTTPProxy != "" {
		errs = append(errs, validateURL(at.Child("httpProxy"), spec.HTTPProxy, "http")...)
	}
	if spec.HTTPSProxy != "" {
		errs = append(errs, validateURL(at.Child("httpsProxy"), spec.HTTPSProxy, "http", "https")...)
	}
	errs = append(errs, validateNoProxy(at.Child("noProxy"), spec.NoProxy)...)
	return append(errs, validateEndpoints(at.Child("readinessEndpoints"), spec)...)
}

func validateTrustedCA(spec *configv1.ProxySpec, at *field.Path) field.ErrorList {
	name := spec.TrustedCA.Name
	if name == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, name, "is not the name of a ConfigMap; give that of one in the namespace openshift-config")}
}

func validateEndpoints(at *field.Path, spec *configv1.ProxySpec) field.ErrorList {
	var errs field.ErrorList
	for i, endpoint := range spec.ReadinessEndpoints {
		wrong := validateURL(at.Index(i), endpoint, "http", "https")
		errs = append(errs, wrong...)
		if len(wrong) == 0 && strings.HasPrefix(strings.ToLower(endpoint), "http:") && spec.HTTPProxy == "" {
			errs = append(errs, field.Invalid(at.Index(i), Redact(endpoint), "an http endpoint is reached through httpProxy, which is not set; set it, or use an https endpoint"))
		}
	}
	return errs
}
