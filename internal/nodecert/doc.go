// Package nodecert manages a certificate of a node, which the operator signs: the key never leaves the node, the request is a
// CertificateSigningRequest, and the certificate is replaced before it expires.
package nodecert
