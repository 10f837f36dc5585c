package etcdmanager

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

const (
	// nodeNameExtra is the user attribute with the node of the pod that a token is bound to, set by the API server.
	nodeNameExtra = "authentication.kubernetes.io/node-name"
	// nodeCertificateLife is the maximum validity of a node's certificate. Agents replace it at half of that.
	nodeCertificateLife = 90 * 24 * time.Hour
	// requestsPerHour is the maximum number of requests of a node in an hour. An agent needs one in 45 days.
	requestsPerHour = 6
	// unknownNodeGrace is how long a request of an unknown node waits, since the cache may be outdated.
	unknownNodeGrace = time.Minute
	// maxRequestSize is the maximum size of a request in bytes.
	maxRequestSize = 16 << 10
)

// listedRequests lists the requests with Live.
func (e *Manager) listedRequests(ctx context.Context) ([]certificatesv1.CertificateSigningRequest, error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := e.deps.Live.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list certificate signing requests: %w", err)
	}
	return list.Items, nil
}

// handleRequests signs or denies certificate requests of nodes.
func (r *Run) handleRequests(ctx context.Context) error {
	requests, err := r.deps.Requests(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(requests, func(a, b certificatesv1.CertificateSigningRequest) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	recent := map[string]int{}
	for i := range requests {
		csr := &requests[i]
		if csr.Spec.SignerName != r.cluster.Signer() {
			continue
		}
		node := claimedNode(csr)
		if csr.Spec.Username == r.cluster.Requester() && r.deps.Now().Sub(csr.CreationTimestamp.Time) < time.Hour {
			recent[node]++
		}
		if isFinished(csr) {
			continue
		}
		err := r.handleRequest(ctx, csr.DeepCopy(), recent[node])
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			r.Requeue(Instantly)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// claimedNode returns the node that a request comes from, according to the API server; empty if unknown.
func claimedNode(csr *certificatesv1.CertificateSigningRequest) string {
	if names := csr.Spec.Extra[nodeNameExtra]; len(names) == 1 {
		return names[0]
	}
	return ""
}

func isFinished(csr *certificatesv1.CertificateSigningRequest) bool {
	return len(csr.Status.Certificate) > 0 || hasCondition(csr, certificatesv1.CertificateDenied) || hasCondition(csr, certificatesv1.CertificateFailed)
}

func hasCondition(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
}

// handleRequest signs or denies a request.
func (r *Run) handleRequest(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, recent int) error {
	key, err := validateRequest(r.cluster, csr, recent)
	if err == nil {
		if _, exists := r.Nodes[claimedNode(csr)]; !exists {
			if r.deps.Now().Sub(csr.CreationTimestamp.Time) < unknownNodeGrace {
				r.Requeue(Soon)
				return nil
			}
			err = fmt.Errorf("there is no node %s", claimedNode(csr))
		}
	}
	if err != nil {
		r.deps.Log.Warn("denied a certificate for etcd", "request", csr.Name, "user", csr.Spec.Username, "reason", err)
		return r.deny(ctx, csr, err)
	}
	certificate, err := r.certify(ctx, csr, key)
	if err != nil || certificate == nil {
		return err
	}
	if !hasCondition(csr, certificatesv1.CertificateApproved) {
		r.condition(csr, certificatesv1.CertificateApproved, "AutoApproved", "Automatically approved by "+r.cluster.Signer())
		if err := r.deps.Client.SubResource("approval").Update(ctx, csr, r.owner); err != nil {
			return fmt.Errorf("approve request %s: %w", csr.Name, err)
		}
	}
	csr.Status.Certificate = certificate
	if err := r.deps.Client.Status().Update(ctx, csr, r.owner); err != nil {
		return fmt.Errorf("write certificate of request %s: %w", csr.Name, err)
	}
	r.deps.Log.Info("signed a certificate for etcd", "request", csr.Name, "node", claimedNode(csr))
	return nil
}

// deny denies a request, or sets the condition Failed if another client has approved it.
func (r *Run) deny(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, why error) error {
	var err error
	if hasCondition(csr, certificatesv1.CertificateApproved) {
		r.condition(csr, certificatesv1.CertificateFailed, "NotPermitted", why.Error())
		err = r.deps.Client.Status().Update(ctx, csr, r.owner)
	} else {
		r.condition(csr, certificatesv1.CertificateDenied, "NotPermitted", why.Error())
		err = r.deps.Client.SubResource("approval").Update(ctx, csr, r.owner)
	}
	if err != nil {
		return fmt.Errorf("deny request %s: %w", csr.Name, err)
	}
	return nil
}

func (r *Run) condition(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, reason, message string) {
	now := metav1.NewTime(r.deps.Now())
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now})
}

// certify signs a key for the node that a request comes from. It returns nil while members do not trust the CA yet: a CA that replaces a lost one signs
// after all members have started with its bundle.
func (r *Run) certify(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, key any) ([]byte, error) {
	data, err := r.readSecret(ctx, r.deps.Namespace, r.cluster.CASecret())
	if err != nil || len(data) == 0 { // the CA is not created while the network is not managed
		return nil, err
	}
	rotation, err := DecodeRotation(data)
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", r.deps.Namespace, r.cluster.CASecret(), err)
	}
	if r.deps.Now().Before(rotation.SignsAlone(Policy(r.cluster))) {
		if spread, err := r.spread(ctx, r.Members.Members, trustOf(rotation)); err != nil || !spread {
			r.Requeue(Soon)
			return nil, err
		}
	}
	now, life := r.deps.Now(), nodeCertificateLife
	if s := csr.Spec.ExpirationSeconds; s != nil {
		life = min(life, time.Duration(*s)*time.Second)
	}
	return rotation.Current.Certify(x509.Certificate{
		Subject:  pkix.Name{CommonName: r.cluster.NodeUser(claimedNode(csr))},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(life),
	}, key)
}

// validateRequest returns the key of a valid request; the error is the violated rule. recent is the number of requests of its node in the last hour,
// including this one.
func validateRequest(c etcdcluster.Cluster, csr *certificatesv1.CertificateSigningRequest, recent int) (any, error) {
	node := claimedNode(csr)
	switch {
	case csr.Spec.Username != c.Requester():
		return nil, fmt.Errorf("only %s may request certificates of %s", c.Requester(), c.Signer())
	case node == "":
		return nil, fmt.Errorf("the API server does not report which node the request comes from (%s); the token must be bound to a pod", nodeNameExtra)
	case recent > requestsPerHour:
		return nil, fmt.Errorf("node %s has made %d requests within an hour, and %d are allowed", node, recent, requestsPerHour)
	case len(csr.Spec.Request) > maxRequestSize:
		return nil, fmt.Errorf("the request has %d bytes, and %d are allowed", len(csr.Spec.Request), maxRequestSize)
	}
	if err := checkUsages(csr.Spec.Usages); err != nil {
		return nil, err
	}
	block, rest := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
		return nil, errors.New("the request must be one block of PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the request is not signed with its key: %w", err)
	}
	if len(request.Subject.Names) != 1 || request.Subject.CommonName != c.NodeUser(node) {
		return nil, fmt.Errorf("the subject is %q, and that of a request from node %s must be the common name %s alone", request.Subject, node, c.NodeUser(node))
	}
	if len(request.Extensions)+len(request.DNSNames)+len(request.EmailAddresses)+len(request.IPAddresses)+len(request.URIs) > 0 {
		return nil, errors.New("the request must have no alternative names and no extensions")
	}
	return request.PublicKey, checkKey(request.PublicKey)
}

func checkUsages(usages []certificatesv1.KeyUsage) error {
	if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("usages must contain %q", certificatesv1.UsageClientAuth)
	}
	for _, u := range usages {
		if u != certificatesv1.UsageClientAuth && u != certificatesv1.UsageDigitalSignature {
			return fmt.Errorf("usage %q is not allowed, only %q and %q", u, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature)
		}
	}
	return nil
}

func checkKey(key any) error {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Params().BitSize >= 256 {
			return nil
		}
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= 2048 && bits <= 8192 {
			return nil
		}
	case ed25519.PublicKey:
		return nil
	}
	return errors.New("the key must be ECDSA of at least 256 bits, Ed25519, or RSA of 2048 to 8192 bits")
}
