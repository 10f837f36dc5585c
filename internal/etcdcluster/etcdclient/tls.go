package etcdclient

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// TLSConfig returns the configuration for the data of a Secret of type kubernetes.io/tls with etcdcluster.BundleKey. Without a certificate, it only has
// the trusted CAs. It is nil for no data.
func TLSConfig(data map[string][]byte) (*tls.Config, error) {
	if len(data) == 0 {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(data[etcdcluster.BundleKey])
	if len(bytes.TrimSpace(data[corev1.TLSCertKey])) == 0 {
		return config, nil
	}
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read the certificate for etcd: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
