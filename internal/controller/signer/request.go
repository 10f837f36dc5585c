package signer

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const blockRequest = "CERTIFICATE REQUEST"

// parseRequest parses a request of at most maxBytes: exactly one PEM block.
func parseRequest(text []byte, maxBytes int) (*x509.CertificateRequest, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the request has %d bytes; at most %d are read", len(text), maxBytes)
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("the request is not in PEM form")
	case block.Type != blockRequest:
		return nil, fmt.Errorf("the PEM block type must be %s, not %.40q", blockRequest, block.Type)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("there is something after the request")
	case !bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN ")):
		return nil, errors.New("there is something before the request")
	case len(block.Headers) > 0:
		return nil, errors.New("the PEM block has headers")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	return request, nil
}

// isServiceName reports whether a name is that of a Service in cluster DNS, of the API server, or of localhost. Such a name is never the
// name of a node.
func isServiceName(name string) bool {
	labels := strings.Split(name, ".")
	switch {
	case name == "kubernetes", name == "kubernetes.default", labels[len(labels)-1] == "localhost":
		return true
	}
	return len(labels) > 2 && slices.Contains(labels[2:], "svc")
}

// isNodeName reports whether a name is valid for a node.
func isNodeName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
