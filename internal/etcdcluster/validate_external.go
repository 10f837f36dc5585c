package etcdcluster

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// External returns the errors in the settings of an external etcd, whose members must all be reached with TLS or all without. The field
// of ClientSecret is clientCertificateSecret.
func (r Rules) External(e External) field.ErrorList {
	at := r.Path.Child("external")
	var errs field.ErrorList
	if len(e.Endpoints) == 0 {
		errs = append(errs, field.Required(at.Child("endpoints"), "names no member of the etcd; write the URL of each, e.g. https://192.0.2.10:2379").WithOrigin(r.Origin+"-endpoints-required"))
	}
	schemes, seen := map[string]bool{}, map[string]bool{}
	for i, text := range e.Endpoints {
		scheme, why := endpointScheme(text)
		if why == "" && seen[text] {
			why = "is named twice; remove one"
		}
		if why != "" {
			errs = append(errs, field.Invalid(at.Child("endpoints").Index(i), text, why).WithOrigin(r.Origin+"-endpoint"))
		}
		schemes[scheme], seen[text] = true, true
	}
	if schemes["http"] && schemes["https"] {
		errs = append(errs, field.Forbidden(at.Child("endpoints"), "has http and https members; use one scheme for all").WithOrigin(r.Origin+"-schemes"))
	}
	return append(errs, r.externalTLS(at, e, schemes)...)
}

func (r Rules) externalTLS(at *field.Path, e External, schemes map[string]bool) field.ErrorList {
	var errs field.ErrorList
	if e.CAConfigMap == "" && schemes["https"] {
		errs = append(errs, field.Required(at.Child("caConfigMap"),
			"is required with https endpoints; name the ConfigMap, in the operator's namespace, whose key ca-bundle.crt holds the authorities of the members").WithOrigin(r.Origin+"-tls"))
	}
	for _, f := range []struct{ name, value string }{
		{"caConfigMap", e.CAConfigMap}, {"clientCertificateSecret", e.ClientSecret},
	} {
		switch {
		case f.value != "" && schemes["http"] && !schemes["https"]:
			errs = append(errs, field.Forbidden(at.Child(f.name), "has no effect with http endpoints; remove it, or use https").WithOrigin(r.Origin+"-tls"))
		case f.value != "" && len(validation.IsDNS1123Subdomain(f.value)) > 0:
			errs = append(errs, field.Invalid(at.Child(f.name), f.value, "cannot be the name of an object; use lower-case letters, digits, dashes and dots").WithOrigin(r.Origin+"-object-name"))
		}
	}
	return errs
}

// endpointScheme returns the scheme of the URL of a member, or what is wrong with it.
func endpointScheme(text string) (scheme, why string) {
	const example = "; write it like https://192.0.2.10:2379"
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", "is not a URL with a host and a port" + example
	}
	switch {
	case u.User != nil:
		return u.Scheme, "holds a user name, which would be readable in the nodes' configuration; use a client certificate"
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Sprintf("has the scheme %q; use http or https", u.Scheme)
	case u.Hostname() == "" || u.Port() == "":
		return u.Scheme, "must have a host and a port" + example
	case !isHost(u.Hostname()):
		return u.Scheme, fmt.Sprintf("has the host %q, which is neither an IP address nor a DNS name", u.Hostname()) + example
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return u.Scheme, "must end after the port" + example
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return u.Scheme, "has a port that is not between 1 and 65535"
	}
	return u.Scheme, ""
}

// isHost reports whether a text is an IP address or a DNS name.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || len(validation.IsDNS1123Subdomain(strings.ToLower(text))) == 0
}
