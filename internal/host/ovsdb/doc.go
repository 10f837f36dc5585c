// Package ovsdb is a client of OVSDB servers (RFC 7047) on unix sockets, TCP and TLS: a Client is one connection, with transactions
// and monitors; a Session keeps one to one of several servers; a Cache has the rows of some tables over several connections; a Model reads
// and writes the rows of a table as structs. The package
// knows nothing of Open vSwitch's tables. A Client is safe for use by several goroutines; when its connection breaks every waiting and
// later call fails, and the owner dials again.
package ovsdb
