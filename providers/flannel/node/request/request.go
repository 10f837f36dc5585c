// Package request requests certificates for a node from the operator, as CertificateSigningRequests. It is the only
// part of the agent that uses the Kubernetes API.
package request

import (
	"bytes"
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certificates "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/providers/flannel/node"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// poll is how often a request is looked at that is not signed yet.
	poll = 2 * time.Second
	// patience is how long to wait for the operator before the caller hears of it.
	patience = time.Minute
)

// Client is a node.Signer that asks the operator.
type Client struct {
	requests certificates.CertificateSigningRequestInterface
}

// New returns a client. The configuration's token must be bound to the pod on the node: the API server then writes the
// node into the request.
func New(config *rest.Config) (*Client, error) {
	api, err := certificates.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client of the Kubernetes API: %w", err)
	}
	return &Client{api.CertificateSigningRequests()}, nil
}

// Sign implements node.Signer.
func (c *Client) Sign(ctx context.Context, name string, request []byte) ([]byte, error) {
	_, err := c.requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: record.Etcd.Signer(), Request: request, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
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
				return nil, fmt.Errorf("%w: %s: %s", node.ErrRefused, condition.Reason, condition.Message)
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
