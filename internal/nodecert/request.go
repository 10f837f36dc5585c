package nodecert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificates "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/rest"
)

const (
	// poll is the interval at which a request that is not signed yet is read.
	poll = 2 * time.Second
	// patience is the time after which waiting for the operator returns an error.
	patience = time.Minute
)

// ErrRefused means that a request was denied or failed, so that another one is needed.
var ErrRefused = errors.New("the request for a certificate was refused")

// Signer signs certificate requests.
type Signer interface {
	// Sign creates a request of the given name unless it exists, waits until it is signed, and returns the certificate
	// as PEM. The error wraps ErrRefused if it will never be signed.
	Sign(ctx context.Context, name string, request []byte) ([]byte, error)
}

// Client is a Signer that uses the Kubernetes API.
type Client struct {
	requests certificates.CertificateSigningRequestInterface
	signer   string
	usages   []certificatesv1.KeyUsage
}

// NewClient returns a client for a signer. The token of the configuration must be bound to the pod on the node: the API server then adds the
// node to the request.
func NewClient(config *rest.Config, signer string, usages ...certificatesv1.KeyUsage) (*Client, error) {
	api, err := certificates.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client of the Kubernetes API: %w", err)
	}
	return &Client{requests: api.CertificateSigningRequests(), signer: signer, usages: usages}, nil
}

// Sign implements Signer.
func (c *Client) Sign(ctx context.Context, name string, request []byte) ([]byte, error) {
	_, err := c.requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: c.signer, Request: request, Usages: c.usages},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("request certificate %s: %w", name, err)
	}
	until := time.After(patience)
	for {
		csr, err := c.requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read request %s for a certificate: %w", name, err)
		}
		if len(csr.Status.Certificate) > 0 {
			return bytes.Clone(csr.Status.Certificate), nil
		}
		for _, condition := range csr.Status.Conditions {
			ended := condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed
			if ended && condition.Status == corev1.ConditionTrue {
				return nil, fmt.Errorf("%w: %s: %s", ErrRefused, condition.Reason, condition.Message)
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-until:
			return nil, fmt.Errorf("request %s for a certificate is not signed yet; the operator signs it", name)
		case <-time.After(poll):
		}
	}
}
