package signer

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// Node is what is known of the node that a requester claims to be. The zero value is a node that does not exist.
type Node struct {
	Name string
	// Names are the others that it has: its host name, its name in the DNS, and its name in Open vSwitch. Addresses are its
	// internal ones. What another node has, too, is in neither, unless this one had it first.
	Names     []string
	Addresses []netip.Addr
	// Contested is what another node has, too, with the node that had it first; empty where that is not known.
	Contested map[string]string
}

// Verdict is what is to be done with a request.
type Verdict string

// The verdicts.
const (
	// Leave a request that is not this signer's, or that is finished.
	Leave Verdict = "leave"
	// Deny a request that breaks a rule.
	Deny Verdict = "deny"
	// Fail one that breaks a rule and was approved by a third party. The API has no way from approved to denied.
	Fail Verdict = "fail"
	// Sign, after approving unless someone has done that.
	Sign Verdict = "sign"
)

// The reasons of refusals.
const (
	reasonUser      = "CSRInvalidUser"
	reasonDecode    = "CSRDecodeFailure"
	reasonSignature = "CSRInvalidSignature"
	reasonKey       = "CSRWeakKey"
	reasonName      = "CSRInvalidCommonName"
	reasonSubject   = "CSRInvalidSubject"
	reasonSAN       = "CSRInvalidSubjectAltName"
	reasonUsage     = "CSRInvalidUsage"
	reasonAuthority = "CSRAuthorityRequested"
	reasonExtension = "CSRInvalidExtension"
)

// Refusal is one rule that a request breaks.
type Refusal struct {
	// Reason is for programs, Message for people.
	Reason, Message string
	// OfNode is true if another state of the node would make another answer.
	OfNode bool
}

// Decision is the answer to a request.
type Decision struct {
	Verdict Verdict
	// Refusals are all the rules that are broken, for Deny and Fail.
	Refusals []Refusal
	// Template is the certificate without number and signature, Key whose it is, for Sign.
	Template x509.Certificate
	Key      any
	// Note says what the requester gets otherwise than asked for.
	Note string
}

// longestMessage bounds what is said of a request that breaks a great many rules, in bytes.
const longestMessage = 900

// userPrefix is what comes before a node's name in the name of the user that it is.
const userPrefix = "system:ovn-node:"

// extraNode is where the API server writes the node of the pod to which a token is bound.
const extraNode = "authentication.kubernetes.io/node-name"

// NodeOf returns the node that a request comes from, by its user; ok is false for a user that is none.
func (p Policy) NodeOf(csr *certificatesv1.CertificateSigningRequest) (name string, ok bool) {
	if slices.Contains(p.Accounts, csr.Spec.Username) {
		if nodes := csr.Spec.Extra[extraNode]; len(nodes) == 1 {
			return nodes[0], isNodeName(nodes[0])
		}
		return "", false
	}
	name, ok = strings.CutPrefix(csr.Spec.Username, userPrefix)
	return name, ok && isNodeName(name) && slices.Contains(csr.Spec.Groups, p.Group)
}

// Decide answers a request. It is a function of its arguments alone.
func Decide(csr *certificatesv1.CertificateSigningRequest, node Node, policy Policy, now time.Time) Decision {
	if csr.Spec.SignerName != SignerName || Finished(csr) {
		return Decision{Verdict: Leave}
	}
	if refusal := checkUser(csr, node, policy); refusal != nil {
		return refuse(csr, *refusal)
	}
	request, err := parseRequest(csr.Spec.Request, policy.LargestRequest)
	if err != nil {
		return refuse(csr, Refusal{Reason: reasonDecode, Message: err.Error()})
	}
	var refusals []Refusal
	for _, check := range []func(*x509.CertificateRequest, Node, Policy) []Refusal{checkKey, checkSubject, checkExtensions, checkNames} {
		refusals = append(refusals, check(request, node, policy)...)
	}
	refusals = append(refusals, checkUsages(csr.Spec.Usages, policy)...)
	if len(refusals) > 0 {
		return refuse(csr, refusals...)
	}
	d := Decision{Verdict: Sign, Key: request.PublicKey}
	d.Template, d.Note = template(csr, request, policy, now)
	return d
}

// Finished reports whether there is nothing left to do for a request, no matter which client did it.
func Finished(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Certificate) > 0 || has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed)
}

func has(csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == condition })
}

func refuse(csr *certificatesv1.CertificateSigningRequest, refusals ...Refusal) Decision {
	d := Decision{Verdict: Deny, Refusals: refusals}
	if has(csr, certificatesv1.CertificateApproved) {
		d.Verdict = Fail
	}
	return d
}

// Reason is that of the first refusal.
func (d Decision) Reason() string {
	if len(d.Refusals) == 0 {
		return ""
	}
	return d.Refusals[0].Reason
}

// Message reports all refusals.
func (d Decision) Message() string {
	var all []string
	for _, r := range d.Refusals {
		all = append(all, r.Message)
	}
	text := "denied: " + strings.Join(all, "; ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "..."
	}
	return text
}

// OfNode reports whether another state of the node would make another answer.
func (d Decision) OfNode() bool {
	return slices.ContainsFunc(d.Refusals, func(r Refusal) bool { return r.OfNode })
}

func checkUser(csr *certificatesv1.CertificateSigningRequest, node Node, policy Policy) *Refusal {
	name, ok := policy.NodeOf(csr)
	switch {
	case ok && node.Name == name:
		return nil
	case slices.Contains(policy.Accounts, csr.Spec.Username):
		return &Refusal{Reason: reasonUser, OfNode: ok,
			Message: fmt.Sprintf("user %q has node %.80q, which does not exist; it must have the token of a pod, which is bound to its node", csr.Spec.Username, name)}
	}
	return &Refusal{Reason: reasonUser, OfNode: ok,
		Message: fmt.Sprintf("user %q is not %s<existing node> in group %s", csr.Spec.Username, userPrefix, policy.Group)}
}

// template says what the certificate of a request that breaks no rule holds.
func template(csr *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest, policy Policy, now time.Time) (x509.Certificate, string) {
	life, note := policy.Longest, ""
	if asked := csr.Spec.ExpirationSeconds; asked != nil {
		if want := time.Duration(*asked) * time.Second; want <= policy.Longest {
			life = want
		} else {
			note = fmt.Sprintf("asked for %s; certificates are valid for at most %s", want, policy.Longest)
		}
	}
	t := x509.Certificate{
		Subject:     pkix.Name{CommonName: request.Subject.CommonName, Organization: request.Subject.Organization},
		DNSNames:    request.DNSNames,
		IPAddresses: nil,
		NotBefore:   now.Add(-backdate).UTC(),
		KeyUsage:    x509.KeyUsageDigitalSignature,
	}
	for _, ip := range request.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			t.IPAddresses = append(t.IPAddresses, a.Unmap().AsSlice())
		}
	}
	if t.NotAfter = now.Add(life).UTC(); t.NotAfter.Sub(t.NotBefore) > policy.Longest {
		t.NotAfter = t.NotBefore.Add(policy.Longest)
	}
	for _, name := range csr.Spec.Usages {
		usage := policy.Usages[name]
		t.KeyUsage |= usage.Key
		t.ExtKeyUsage = append(t.ExtKeyUsage, usage.Extended...)
		for _, oid := range usage.More {
			if !slices.ContainsFunc(t.UnknownExtKeyUsage, oid.Equal) {
				t.UnknownExtKeyUsage = append(t.UnknownExtKeyUsage, oid)
			}
		}
	}
	if len(t.ExtKeyUsage) == 0 { // else it would be good for all usages
		t.UnknownExtKeyUsage = []asn1.ObjectIdentifier{oidIPsecIKE}
	}
	return t, note
}
