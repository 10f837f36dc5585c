package signer

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Attributes of a subject. C, ST, L and OU are allowed and not copied to the certificate.
var (
	oidCommonName   = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidOrganization = asn1.ObjectIdentifier{2, 5, 4, 10}
	oidIgnored      = []asn1.ObjectIdentifier{{2, 5, 4, 6}, {2, 5, 4, 7}, {2, 5, 4, 8}, {2, 5, 4, 11}}
)

// hasName reports whether a name is the node's.
func (n Node) hasName(name string) bool { return name == n.Name || slices.Contains(n.Names, name) }

// contested returns the end of a message about an identity that another node also claims; empty if none does.
func (n Node) contested(name string) string {
	first, contested := n.Contested[name]
	switch {
	case !contested:
		return ""
	case first == disputed:
		return ", which another node claims, too; correct .status.addresses or the annotation " + ChassisAnnotation + " of the wrong one"
	}
	return fmt.Sprintf(", which another node claims, too: node %q had it first", first)
}

// checkSubject requires exactly one common name, which is a name of the node, and only allowed attributes.
func checkSubject(request *x509.CertificateRequest, node Node, policy Policy) []Refusal {
	var subject pkix.RDNSequence
	if rest, err := asn1.Unmarshal(request.RawSubject, &subject); err != nil || len(rest) > 0 {
		return []Refusal{{Reason: reasonSubject, Message: "the subject cannot be read"}}
	}
	var refusals []Refusal
	common := 0
	for _, set := range subject {
		for _, part := range set {
			text, isText := part.Value.(string)
			switch {
			case part.Type.Equal(oidCommonName):
				common++
				if !isText || text != request.Subject.CommonName {
					refusals = append(refusals, Refusal{Reason: reasonName, Message: "the subject has several common names"})
				}
			case part.Type.Equal(oidOrganization):
				if !slices.Contains(policy.Organizations, text) {
					refusals = append(refusals, Refusal{Reason: reasonSubject,
						Message: fmt.Sprintf("requested organization %.80q, which is not allowed for nodes; leave it out", text)})
				}
			case !slices.ContainsFunc(oidIgnored, part.Type.Equal):
				refusals = append(refusals, Refusal{Reason: reasonSubject, Message: fmt.Sprintf("requested subject attribute %s; leave it out", part.Type)})
			}
		}
	}
	if name := request.Subject.CommonName; common == 0 || !node.hasName(name) {
		refusals = append(refusals, Refusal{Reason: reasonName, OfNode: true,
			Message: fmt.Sprintf("requested CN %.80q but requester is node %q%s", name, node.Name, node.contested(name))})
	}
	return refusals
}

// checkNames requires every alternative name to be a name or an address of the node.
func checkNames(request *x509.CertificateRequest, node Node, _ Policy) []Refusal {
	var refusals []Refusal
	reject := func(ofNode bool, kind, value string) {
		refusals = append(refusals, Refusal{Reason: reasonSAN, OfNode: ofNode,
			Message: fmt.Sprintf("requested %s %.80q, which is not of node %q%s", kind, value, node.Name, node.contested(value))})
	}
	for _, name := range request.DNSNames {
		if !node.hasName(name) {
			reject(true, "DNS name", name)
		}
	}
	for _, ip := range request.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); !ok || !slices.Contains(node.Addresses, a.Unmap()) {
			reject(true, "IP address", ip.String())
		}
	}
	for _, address := range request.EmailAddresses {
		reject(false, "email address", address)
	}
	for _, uri := range request.URIs {
		reject(false, "URI", strings.ToValidUTF8(uri.String(), "?"))
	}
	return refusals
}
