package ipsec

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Peer is another node.
type Peer struct {
	Name    string
	Address netip.Addr
}

// Settings are what all connections of a node have in common.
type Settings struct {
	// Name and Address are the node's own.
	Name    string
	Address netip.Addr
	// Port is the UDP port of Geneve.
	Port uint16
	// Transport is true if the kernel encrypts: packets keep their addresses. Otherwise they are wrapped in new ones.
	Transport bool
	// Encapsulate is true if encrypted packets are always wrapped in UDP. Otherwise they are where an address is translated on the way.
	Encapsulate bool
	// Certificate is the node's, in DER form.
	Certificate []byte
}

const (
	// ikeProposal and espProposal are the algorithms: AES-GCM with 128 bits, as OVN's own IPsec uses, and a key exchange on an elliptic curve.
	ikeProposal = "aes256gcm16-prfsha384-ecp384"
	espProposal = "aes128gcm16-ecp256"
	// dpdDelay is after how much silence a node asks whether the other one is alive.
	dpdDelay = 5 * time.Second
	// authEvery is how often nodes present their certificates again: one whose certificate has expired is cut off after that time.
	authEvery = 12 * time.Hour
	// keysEvery is how often keys are replaced.
	keysEvery = 4 * time.Hour
	// The names of the two children of each connection: packets to the port of the peer, and packets to the own port.
	childTo, childFrom = "to", "from"
)

// Connection is a connection as vici, the protocol of charon, has it.
type Connection struct {
	Version    string           `vici:"version"`
	Local      []string         `vici:"local_addrs"`
	Remote     []string         `vici:"remote_addrs"`
	Proposals  []string         `vici:"proposals"`
	Unique     string           `vici:"unique"`
	DPD        string           `vici:"dpd_delay"`
	Reauth     string           `vici:"reauth_time"`
	Mobike     string           `vici:"mobike"`
	Encap      string           `vici:"encap"`
	Tries      string           `vici:"keyingtries"`
	Certify    string           `vici:"send_cert"`
	LocalAuth  local            `vici:"local"`
	RemoteAuth remote           `vici:"remote"`
	Children   map[string]child `vici:"children"`
}

type local struct {
	Auth         string   `vici:"auth"`
	ID           string   `vici:"id"`
	Certificates []string `vici:"certs"`
}

type remote struct {
	Auth string `vici:"auth"`
	ID   string `vici:"id"`
}

type child struct {
	LocalTS   []string `vici:"local_ts"`
	RemoteTS  []string `vici:"remote_ts"`
	Mode      string   `vici:"mode"`
	Proposals []string `vici:"esp_proposals"`
	Rekey     string   `vici:"rekey_time"`
	DPDAction string   `vici:"dpd_action"`
	Start     string   `vici:"start_action"`
	Close     string   `vici:"close_action"`
}

// namePrefix begins the names of connections of this package.
const namePrefix = "ovn-"

// nameOf is the name of the connection with a peer. Dots would separate sections.
func nameOf(peer string) string { return namePrefix + strings.ReplaceAll(peer, ".", "_") }

// identity is what a node is called in its certificate: a DNS name, also where its name looks like an address.
func identity(node string) string { return "fqdn:" + node }

// Desired returns the connections that charon is to have, by name: one with every peer. No connection begins by itself: see Initiates.
func Desired(s Settings, peers []Peer) map[string]Connection {
	mode, encap := "tunnel", "no"
	if s.Transport {
		mode = "transport"
	}
	if s.Encapsulate {
		encap = "yes"
	}
	out := map[string]Connection{}
	for _, p := range peers {
		selectors := func(at netip.Addr, port string) []string {
			return []string{fmt.Sprintf("%s[udp%s]", netip.PrefixFrom(at, at.BitLen()), port)}
		}
		port := fmt.Sprintf("/%d", s.Port)
		children := map[string]child{}
		for name, ports := range map[string][2]string{childTo: {"", port}, childFrom: {port, ""}} {
			children[name] = child{
				LocalTS: selectors(s.Address, ports[0]), RemoteTS: selectors(p.Address, ports[1]), Mode: mode, Proposals: []string{espProposal},
				Rekey: seconds(keysEvery), DPDAction: "clear", Start: "none", Close: "none",
			}
		}
		out[nameOf(p.Name)] = Connection{
			Version: "2", Local: []string{s.Address.String()}, Remote: []string{p.Address.String()}, Proposals: []string{ikeProposal},
			// A node that starts again replaces what the other one still has.
			Unique: "replace", DPD: seconds(dpdDelay), Reauth: seconds(authEvery), Mobike: "no", Encap: encap, Tries: "1", Certify: "always",
			LocalAuth:  local{Auth: "pubkey", ID: identity(s.Name), Certificates: []string{string(s.Certificate)}},
			RemoteAuth: remote{Auth: "pubkey", ID: identity(p.Name)},
			Children:   children,
		}
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

// Initiates reports whether it is a node, and not its peer, that begins their connection. If both did, each would remove that of the other.
func Initiates(self string, peer Peer) bool { return self < peer.Name }

// Association is what charon has agreed on with a peer.
type Association struct {
	// Connection is the name of the connection.
	Connection string
	// Established is true if both sides have authenticated; Children are the names of the children whose keys are in use.
	Established bool
	Children    []string
	// ID is charon's number of the association: later ones have higher numbers.
	ID uint32
	// Idle is for how many seconds no packet was sent with its keys, neverSent if none was yet.
	Idle uint32
}

// neverSent is the Idle of an association whose keys no packet was sent with.
const neverSent = math.MaxUint32

// missing returns the children that a peer has no keys for, of all associations with it; nil if it has all.
func missing(all []Association, peer Peer) []string {
	var have []string
	for _, a := range all {
		if a.Connection == nameOf(peer.Name) && a.Established {
			have = append(have, a.Children...)
		}
	}
	var out []string
	for _, name := range []string{childFrom, childTo} {
		if !slices.Contains(have, name) {
			out = append(out, name)
		}
	}
	return out
}

// surplus returns the IDs of associations that a node removes since it has another one with the same peer, sorted. Two nodes that begin at the same moment have
// one each, of which charon removes none, and both would be renewed for ever. The side that Initiates removes, so that the two do not remove each other's; it
// keeps the one that it sends packets with, so that no such packet is lost, and the latest of those that are unused.
func surplus(all []Association, self string, peers []Peer) []uint32 {
	var out []uint32
	for _, p := range peers {
		if !Initiates(self, p) {
			continue
		}
		var usable []Association
		for _, a := range all {
			if len(missing([]Association{a}, p)) == 0 {
				usable = append(usable, a)
			}
		}
		if len(usable) < 2 {
			continue
		}
		kept := slices.MinFunc(usable, func(a, b Association) int { return cmp.Or(cmp.Compare(a.Idle, b.Idle), cmp.Compare(b.ID, a.ID)) })
		for _, a := range usable {
			if a.ID != kept.ID {
				out = append(out, a.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}

// stray returns the connections of associations that belong to no peer, sorted.
func stray(all []Association, desired map[string]Connection) []string {
	var out []string
	for _, a := range all {
		if _, wanted := desired[a.Connection]; !wanted && strings.HasPrefix(a.Connection, namePrefix) {
			out = append(out, a.Connection)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
