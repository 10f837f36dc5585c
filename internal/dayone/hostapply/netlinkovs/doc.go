// Package netlinkovs is the backend for hosts without NetworkManager. It configures links, addresses, routes and rules with netlink, and Open vSwitch with
// its database, and has its own DHCP client.
//
// A document or a snapshot is converted to a goal; the difference between the goal and the live state is converted to a list of steps, which are executed
// in order. Apply and Restore are the same code with different goals, and can be repeated after a crash at any step. Unsupported settings are refused
// before any change.
package netlinkovs
