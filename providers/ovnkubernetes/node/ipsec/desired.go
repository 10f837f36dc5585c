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

// Settings are the common settings of a node's connections.
type Settings struct {
	// Name and Address are the node's own.
	Name    string
	Address netip.Addr
	// Port is the UDP port of Geneve.
	Port uint16
	// Transport is true if the kernel encrypts in transport mode; false for tunnel mode.
	Transport bool
	// Encapsulate is true if encrypted packets are always encapsulated in UDP. Otherwise they are only with NAT.
	Encapsulate bool
	// Certificate is the node's certificate in DER form.
	Certificate []byte
}

const (
	// ikeProposal and espProposal are the algorithms: AES-GCM with 128 bits, as in OVN's own IPsec, and a key exchange on an elliptic curve.
	ikeProposal = "aes256gcm16-prfsha384-ecp384"
	espProposal = "aes128gcm16-ecp256"
	// dpdDelay is the time without packets after which a peer is probed.
	dpdDelay = 5 * time.Second
	// reauthInterval is how often nodes reauthenticate: a node whose certificate has expired is cut off after that time.
	reauthInterval = 12 * time.Hour
	// rekeyInterval is how often keys are replaced.
	rekeyInterval = 4 * time.Hour
	// Names of the two children of each connection: packets to the peer's port, and packets to the node's port.
	childTo, childFrom = "to", "from"
)

// Connection is a connection in the format of charon's protocol vici.
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

// namePrefix is the name prefix of this package's connections.
const namePrefix = "ovn-"

// nameOf returns the name of the connection with a peer. vici does not allow dots in it.
func nameOf(peer string) string { return namePrefix + strings.ReplaceAll(peer, ".", "_") }

// identity returns the identity of a node in its certificate: a DNS name, even if the node's name looks like an address.
func identity(node string) string { return "fqdn:" + node }

// Desired returns the desired connections of charon by name, one for each peer. No connection starts automatically: see Initiates.
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
				Rekey: seconds(rekeyInterval), DPDAction: "clear", Start: "none", Close: "none",
			}
		}
		out[nameOf(p.Name)] = Connection{
			Version: "2", Local: []string{s.Address.String()}, Remote: []string{p.Address.String()}, Proposals: []string{ikeProposal},
			// The connection of a restarted node replaces the one that its peer still has.
			Unique: "replace", DPD: seconds(dpdDelay), Reauth: seconds(reauthInterval), Mobike: "no", Encap: encap, Tries: "1", Certify: "always",
			LocalAuth:  local{Auth: "pubkey", ID: identity(s.Name), Certificates: []string{string(s.Certificate)}},
			RemoteAuth: remote{Auth: "pubkey", ID: identity(p.Name)},
			Children:   children,
		}
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

// Initiates reports whether a node, and not its peer, initiates their connection. If both did, each would remove the other's association.
func Initiates(self string, peer Peer) bool { return self < peer.Name }

// Association is charon's association with a peer.
type Association struct {
	// Connection is the name of the connection.
	Connection string
	// Established is true if both sides have authenticated. Children are the names of the children with installed keys.
	Established bool
	Children    []string
	// ID is charon's number of the association: later ones have higher numbers.
	ID uint32
	// Idle is the time in seconds since the last packet was sent with its keys; neverSent if none was sent.
	Idle uint32
}

// neverSent is the Idle of an association that has sent no packet.
const neverSent = math.MaxUint32

// missing returns the children without keys in any association with a peer; nil if all have keys.
func missing(all []Association, peer Peer) []string {
	var found []string
	for _, a := range all {
		if a.Connection == nameOf(peer.Name) && a.Established {
			found = append(found, a.Children...)
		}
	}
	var out []string
	for _, name := range []string{childFrom, childTo} {
		if !slices.Contains(found, name) {
			out = append(out, name)
		}
	}
	return out
}

// surplus returns the sorted IDs of superfluous associations, which the node removes. Two nodes that initiate simultaneously create two associations; charon
// removes neither and would renew both forever. Only the side of Initiates removes, so that the two sides do not remove each other's. It keeps the association
// in use for sending, so that no packet is lost, and the latest one if none is in use.
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

// stray returns the connections of associations without a peer, sorted.
func stray(all []Association, desired map[string]Connection) []string {
	var out []string
	for _, a := range all {
		if _, found := desired[a.Connection]; !found && strings.HasPrefix(a.Connection, namePrefix) {
			out = append(out, a.Connection)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
