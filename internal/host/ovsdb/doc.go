// Package ovsdb is a client of OVSDB servers (RFC 7047) on unix sockets, TCP and TLS: a Client is one connection, with transactions and monitors; a
// Session maintains a connection to one of several servers; a Cache caches the rows of some tables over several connections; a Ledger writes the rows
// of an owner. The package does not depend on the schema of Open vSwitch. A Client is safe for concurrent use; when its connection
// breaks, all waiting and later calls fail, and the owner dials again.
//
// There is no fake server for tests: they run the real ovsdb-server, which checks transactions against the schema and orders updates as production does.
package ovsdb
