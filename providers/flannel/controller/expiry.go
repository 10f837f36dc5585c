package controller

import (
	"context"
	"crypto/x509"
	"encoding/pem"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// reportExpiry reports when the certificates of the managed etcd expire; what cannot be read is left out.
func (c *Controller) reportExpiry(ctx context.Context, in inputs) error {
	if c.deps.Expires == nil {
		return nil
	}
	if in.settings.Managed == nil {
		c.deps.Expires(nil)
		return nil
	}
	list := []loop.Certificate{{Secret: client.ObjectKey{Namespace: c.deps.Namespace, Name: record.AuthoritySecret}, Name: "authority"}}
	for _, l := range c.leaves(in.members.Members, in.members.NodeIdentity) {
		list = append(list, loop.Certificate{Secret: l.ObjectKey, Name: "certificate"})
	}
	var out []loop.Certificate
	for _, e := range list {
		data, err := c.readSecret(ctx, e.Secret.Namespace, e.Secret.Name)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(data[corev1.TLSCertKey])
		if block == nil {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			e.NotAfter = cert.NotAfter
			out = append(out, e)
		}
	}
	c.deps.Expires(out)
	return nil
}
