// Package ovsdb is a client of an OVSDB server (RFC 7047) on a unix socket: transactions, and one monitor at a time.
// It knows nothing of Open vSwitch's tables. A Client is safe for use by several goroutines; when its
// connection breaks every waiting and later call fails, and the owner dials again.
package ovsdb
