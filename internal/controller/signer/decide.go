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

// Node is the observed state of the node that a requester claims to be. The zero value is a node that does not exist.
type Node struct {
	Name string
	// Names are its further names: host name, DNS name and name in Open vSwitch. Addresses are its internal ones. Both omit identities that
	// another node also claims, unless this node had them first.
	Names     []string
	Addresses []netip.Addr
	// Contested maps identities that another node also claims to the node that had them first; empty if unknown.
	Contested map[string]string
}

// Action is the action for a request.
type Action string

// Actions.
const (
	// Leave ignores a request that is finished or for another signer.
	Leave Action = "leave"
	// Deny denies a request that violates a rule.
	Deny Action = "deny"
	// Fail fails a request that violates a rule and was approved by a third party: the API does not allow to deny it.
	Fail Action = "fail"
	// Sign approves a request unless it is approved, and signs it.
	Sign Action = "sign"
)

// Reasons of refusals.
const (
	reasonUser      = "CSRInvalidUser"
	reasonDecode    = "CSRDecodeFailure"
	reasonSignature = "CSRInvalidSignature"
	reasonKey       = "CSRWeakKey"
	reasonName      = "CSRInvalidCommonName"
	reasonSubject   = "CSRInvalidSubject"
	reasonSAN       = "CSRInvalidSubjectAltName"
	reasonUsage     = "CSRInvalidUsage"
	reasonCA        = "CSRAuthorityRequested"
	reasonExtension = "CSRInvalidExtension"
)

// Refusal is a violated rule.
type Refusal struct {
	// Reason is a CamelCase identifier, Message the text.
	Reason, Message string
	// OfNode is true if the refusal depends on the state of the node.
	OfNode bool
}

// Decision is the result for a request.
type Decision struct {
	Action Action
	// Refusals are all violated rules, for Deny and Fail.
	Refusals []Refusal
	// Template is the certificate without serial number and signature, and Key its public key, for Sign.
	Template x509.Certificate
	Key      any
	// Note describes deviations from the request; empty if there are none.
	Note string
}

// maxMessage is the maximum length of a message, in bytes.
const maxMessage = 900

// userPrefix is the prefix of the user name of a node.
const userPrefix = "system:ovn-node:"

// extraNode is the extra attribute of the user with the node of the pod to which the token is bound.
const extraNode = "authentication.kubernetes.io/node-name"

// NodeOf returns the name of the requesting node, by its user. ok is false if the user is not a node.
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

// Decide returns the decision for a request. It is a pure function.
func Decide(csr *certificatesv1.CertificateSigningRequest, node Node, policy Policy, now time.Time) Decision {
	if csr.Spec.SignerName != SignerName || Finished(csr) {
		return Decision{Action: Leave}
	}
	if refusal := checkUser(csr, node, policy); refusal != nil {
		return refuse(csr, *refusal)
	}
	request, err := parseRequest(csr.Spec.Request, policy.MaxRequestBytes)
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
	d := Decision{Action: Sign, Key: request.PublicKey}
	d.Template, d.Note = template(csr, request, policy, now)
	return d
}

// Finished reports whether a request is denied, failed or has a certificate.
func Finished(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Certificate) > 0 || has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed)
}

func has(csr *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == condition })
}

func refuse(csr *certificatesv1.CertificateSigningRequest, refusals ...Refusal) Decision {
	d := Decision{Action: Deny, Refusals: refusals}
	if has(csr, certificatesv1.CertificateApproved) {
		d.Action = Fail
	}
	return d
}

// Reason returns the reason of the first refusal.
func (d Decision) Reason() string {
	if len(d.Refusals) == 0 {
		return ""
	}
	return d.Refusals[0].Reason
}

// Message returns the messages of all refusals.
func (d Decision) Message() string {
	var all []string
	for _, r := range d.Refusals {
		all = append(all, r.Message)
	}
	text := "denied: " + strings.Join(all, "; ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return text
}

// OfNode reports whether a refusal depends on the state of the node.
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

// template returns the certificate for a request that violates no rule, and a note about deviations.
func template(csr *certificatesv1.CertificateSigningRequest, request *x509.CertificateRequest, policy Policy, now time.Time) (x509.Certificate, string) {
	life, note := policy.MaxLifetime, ""
	if asked := csr.Spec.ExpirationSeconds; asked != nil {
		if want := time.Duration(*asked) * time.Second; want <= policy.MaxLifetime {
			life = want
		} else {
			note = fmt.Sprintf("asked for %s; certificates are valid for at most %s", want, policy.MaxLifetime)
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
	if t.NotAfter = now.Add(life).UTC(); t.NotAfter.Sub(t.NotBefore) > policy.MaxLifetime {
		t.NotAfter = t.NotBefore.Add(policy.MaxLifetime)
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
	if len(t.ExtKeyUsage) == 0 { // without extended usages the certificate would be valid for all
		t.UnknownExtKeyUsage = []asn1.ObjectIdentifier{oidIPsecIKE}
	}
	return t, note
}
