// Package certs makes, reads and judges the certificates that the operator issues itself: an authority, the
// certificates that it signs for servers, clients and both, the bundle of authorities that the others trust, and
// how an authority is replaced without anything ceasing to trust anything.
//
// It is pure but for the kernel's random numbers: certificates go in and out as PEM, the time comes in as an
// argument, and where they are kept is the business of the caller. All keys are ECDSA on P-256.
package certs
