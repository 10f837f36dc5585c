package signer

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
)

var (
	oidSubjectAltName   = asn1.ObjectIdentifier{2, 5, 29, 17}
	oidBasicConstraints = asn1.ObjectIdentifier{2, 5, 29, 19}
	oidKeyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}
	oidExtendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidSubjectKeyID     = asn1.ObjectIdentifier{2, 5, 29, 14}
)

// checkExtensions checks the extensions of a request. None is copied to the certificate; a request for more than is allowed is refused, not
// reduced.
func checkExtensions(request *x509.CertificateRequest, _ Node, _ Policy) []Refusal {
	var refusals []Refusal
	seen := map[string]bool{}
	for _, extension := range request.Extensions {
		if id := extension.Id.String(); seen[id] {
			refusals = append(refusals, Refusal{Reason: reasonExtension, Message: fmt.Sprintf("requested extension %s twice", id)})
		} else {
			seen[id] = true
		}
		reason, message := "", ""
		switch {
		case extension.Id.Equal(oidSubjectKeyID):
		case extension.Id.Equal(oidSubjectAltName):
			reason, message = reasonSAN, checkKindsOfNames(extension.Value)
		case extension.Id.Equal(oidBasicConstraints):
			reason, message = reasonCA, checkBasicConstraints(extension.Value)
		case extension.Id.Equal(oidKeyUsage):
			reason, message = reasonUsage, checkKeyUsage(extension.Value)
		case extension.Id.Equal(oidExtendedKeyUsage):
			reason, message = reasonUsage, checkExtendedKeyUsage(extension.Value)
		default:
			reason, message = reasonExtension, fmt.Sprintf("requested extension %s; leave it out", extension.Id)
		}
		if message != "" {
			refusals = append(refusals, Refusal{Reason: reason, Message: message})
		}
	}
	return refusals
}

// checkKindsOfNames rejects kinds of alternative names that the standard library ignores.
func checkKindsOfNames(value []byte) string {
	var names asn1.RawValue
	if rest, err := asn1.Unmarshal(value, &names); err != nil || len(rest) > 0 || !names.IsCompound {
		return "the alternative names cannot be read"
	}
	const email, dns, uri, ip = 1, 2, 6, 7
	for rest := names.Bytes; len(rest) > 0; {
		var name asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &name); err != nil {
			return "the alternative names cannot be read"
		}
		if name.Class != asn1.ClassContextSpecific || !slices.Contains([]int{email, dns, uri, ip}, name.Tag) {
			return fmt.Sprintf("requested an alternative name of kind %d; only DNS names and IP addresses are allowed", name.Tag)
		}
	}
	return ""
}

func checkBasicConstraints(value []byte) string {
	var constraints struct {
		IsCA       bool `asn1:"optional"`
		MaxPathLen int  `asn1:"optional,default:-1"`
	}
	if rest, err := asn1.Unmarshal(value, &constraints); err != nil || len(rest) > 0 {
		return "the basic constraints cannot be read"
	}
	if constraints.IsCA || constraints.MaxPathLen >= 0 {
		return "requested a CA certificate (CA:TRUE); nodes may not sign certificates"
	}
	return ""
}

func checkKeyUsage(value []byte) string {
	var bits asn1.BitString
	if rest, err := asn1.Unmarshal(value, &bits); err != nil || len(rest) > 0 {
		return "the key usage cannot be read"
	}
	const certSign, crlSign = 5, 6
	if bits.At(certSign) == 1 || bits.At(crlSign) == 1 {
		return "requested the key usage to sign certificates; nodes may not sign certificates"
	}
	return ""
}

func checkExtendedKeyUsage(value []byte) string {
	var usages []asn1.ObjectIdentifier
	if rest, err := asn1.Unmarshal(value, &usages); err != nil || len(rest) > 0 {
		return "the extended key usage cannot be read"
	}
	for _, usage := range usages {
		if !slices.ContainsFunc(requestableExtended, usage.Equal) {
			return fmt.Sprintf("requested extended key usage %s, which nodes may not have", usage)
		}
	}
	return ""
}

// checkUsages checks the usages in the object, which determine those in the certificate.
func checkUsages(usages []certificatesv1.KeyUsage, policy Policy) []Refusal {
	var refused []string
	for _, usage := range usages {
		if _, allowed := policy.Usages[usage]; !allowed {
			refused = append(refused, fmt.Sprintf("%q", usage))
		}
	}
	if len(usages) == 0 {
		return []Refusal{{Reason: reasonUsage, Message: "requested no usage; ask for example for \"ipsec tunnel\""}}
	}
	if len(refused) == 0 {
		return nil
	}
	return []Refusal{{Reason: reasonUsage, Message: fmt.Sprintf("requested usage %s, which nodes may not have", strings.Join(refused, ", "))}}
}
