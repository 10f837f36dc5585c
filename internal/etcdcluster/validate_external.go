package etcdcluster

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
)

// External returns the errors in the settings of an external etcd. Either all endpoints or none must use TLS. The field name of ClientSecret is
// clientCertificateSecret.
func (r Rules) External(e External) field.ErrorList {
	at := r.Path.Child("external")
	var errs field.ErrorList
	if len(e.Endpoints) == 0 {
		errs = append(errs, rules.EtcdEndpointsRequired.For(r.Owner).Required(at.Child("endpoints")))
	}
	schemes, seen := map[string]bool{}, map[string]bool{}
	for i, text := range e.Endpoints {
		path := at.Child("endpoints").Index(i)
		scheme, why := endpointScheme(text)
		switch {
		case why == rules.EtcdCredentials:
			errs = append(errs, why.For(r.Owner).Forbidden(path)) // without the value, which is secret
		case why != rules.Sentence{}:
			errs = append(errs, why.For(r.Owner).Invalid(path, text))
		case seen[text]:
			errs = append(errs, rules.EtcdEndpointTwice.For(r.Owner).Invalid(path, text))
		}
		schemes[scheme], seen[text] = true, true
	}
	if schemes["http"] && schemes["https"] {
		errs = append(errs, rules.EtcdSchemes.For(r.Owner).Forbidden(at.Child("endpoints")))
	}
	return append(errs, r.externalTLS(at, e, schemes)...)
}

func (r Rules) externalTLS(at *field.Path, e External, schemes map[string]bool) field.ErrorList {
	var errs field.ErrorList
	if e.CAConfigMap == "" && schemes["https"] {
		errs = append(errs, rules.EtcdCA.For(r.Owner).Required(at.Child("caConfigMap")))
	}
	if e.ClientSecret == "" && schemes["https"] {
		errs = append(errs, rules.EtcdClientCertificate.For(r.Owner).Required(at.Child("clientCertificateSecret")))
	}
	for _, f := range []struct{ name, value string }{
		{"caConfigMap", e.CAConfigMap}, {"clientCertificateSecret", e.ClientSecret},
	} {
		switch {
		case f.value != "" && schemes["http"] && !schemes["https"]:
			errs = append(errs, rules.EtcdTLSUnused.For(r.Owner).Forbidden(at.Child(f.name)))
		case f.value != "" && len(validation.IsDNS1123Subdomain(f.value)) > 0:
			errs = append(errs, rules.EtcdObjectName.For(r.Owner).Invalid(at.Child(f.name), f.value))
		}
	}
	return errs
}

// endpointScheme returns the scheme of an endpoint, and the rule that it violates.
func endpointScheme(text string) (scheme string, why rules.Sentence) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", rules.EtcdEndpoint
	}
	switch {
	case u.User != nil:
		return u.Scheme, rules.EtcdCredentials
	case u.Scheme != "http" && u.Scheme != "https":
		return "", rules.EtcdEndpoint
	case u.Hostname() == "" || u.Port() == "":
		return u.Scheme, rules.EtcdEndpoint
	case !isHost(u.Hostname()):
		return u.Scheme, rules.EtcdEndpointHost
	case ofClusterDNS(u.Hostname()):
		return u.Scheme, rules.EtcdEndpointCluster
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return u.Scheme, rules.EtcdEndpoint
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return u.Scheme, rules.EtcdEndpoint
	}
	return u.Scheme, rules.Sentence{}
}

// isHost reports whether a text is an IP address or a DNS name.
func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || len(validation.IsDNS1123Subdomain(strings.ToLower(text))) == 0
}

// ofClusterDNS reports whether a host is the name of a Service in the cluster's DNS, without the cluster domain or with the default one. Other cluster
// domains are not recognized.
func ofClusterDNS(host string) bool {
	host = strings.ToLower(host)
	return strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local")
}
