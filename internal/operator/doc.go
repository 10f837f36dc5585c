// Package operator runs the operator as a process: it finds the API server, creates the caches and clients that its
// controllers share, and starts each controller as soon as the APIs that it watches are available.
package operator
