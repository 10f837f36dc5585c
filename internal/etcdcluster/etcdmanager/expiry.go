package etcdmanager

import (
	"context"
	"crypto/x509"
	"encoding/pem"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/loop"
)

// ReportExpiry reports the expiry of the certificates of the managed etcd. It skips certificates that cannot be read.
func (e *Manager) ReportExpiry(ctx context.Context, in Inputs) error {
	if e.deps.Expires == nil {
		return nil
	}
	if in.Settings.Managed == nil {
		e.deps.Expires(nil)
		return nil
	}
	list := []loop.Certificate{{Secret: client.ObjectKey{Namespace: e.deps.Namespace, Name: e.cluster.CASecret()}, Name: "authority"}}
	for _, l := range e.leaves(in.Members.Members, in.Members.NodeIdentity) {
		list = append(list, loop.Certificate{Secret: l.ObjectKey, Name: "certificate"})
	}
	var out []loop.Certificate
	for _, c := range list {
		data, err := e.readSecret(ctx, c.Secret.Namespace, c.Secret.Name)
		if err != nil {
			return err
		}
		block, _ := pem.Decode(data[corev1.TLSCertKey])
		if block == nil {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			c.NotAfter = cert.NotAfter
			out = append(out, c)
		}
	}
	e.deps.Expires(out)
	return nil
}
