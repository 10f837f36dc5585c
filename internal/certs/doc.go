// Package certs issues, parses and checks the certificates of the operator: a CA, the certificates that it signs for
// servers, clients and both, the bundle of trusted CAs, and the rotation of a CA without interruption of trust.
//
// It is pure except for random numbers: certificates are passed as PEM, the time is an argument, and the caller stores
// the certificates. All keys are ECDSA on P-256.
package certs
