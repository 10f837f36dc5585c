// Package netlinkovs is the backend of a host without NetworkManager: links, addresses, routes and rules through netlink, bridges of
// Open vSwitch through its database, leases through its own DHCP client.
//
// A document, or a snapshot, becomes a goal; the difference between a goal and what is live becomes a list of steps, a pure value; the steps
// are carried out one by one. To apply and to restore is therefore the same code with another goal, and both can be
// repeated after a death at any step. What this backend cannot do is refused before anything is changed.
package netlinkovs
