package dhcp

import (
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// maxMessage is the longest message that a server may send.
const maxMessage = 1500

// Messages of RFC 2131, section 4.3.6 (table 4), which defines the address fields of each state.

// discover asks all servers for an offer, of the address want if it is valid.
func discover(mac net.HardwareAddr, c Config, want netip.Addr) (*dhcpv4.DHCPv4, error) {
	m := message(dhcpv4.MessageTypeDiscover, mac, c)
	if want.IsValid() {
		m = append(m, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(want.AsSlice())))
	}
	return dhcpv4.New(m...)
}

// request accepts an offer.
func request(mac net.HardwareAddr, c Config, offer *dhcpv4.DHCPv4) (*dhcpv4.DHCPv4, error) {
	return dhcpv4.New(append(message(dhcpv4.MessageTypeRequest, mac, c),
		dhcpv4.WithTransactionID(offer.TransactionID),
		dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(offer.YourIPAddr)),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(offer.ServerIdentifier())))...)
}

// renew asks for an extension: the server of the lease in the state Renewing, any in Rebinding. The message is the same.
func renew(mac net.HardwareAddr, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	return dhcpv4.New(append(message(dhcpv4.MessageTypeRequest, mac, c), dhcpv4.WithClientIP(l.Prefix.Addr().AsSlice()))...)
}

// release returns a DHCPRELEASE, whose only options are the client and server identifiers.
func release(mac net.HardwareAddr, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	return dhcpv4.New(
		dhcpv4.WithMessageType(dhcpv4.MessageTypeRelease), dhcpv4.WithHwAddr(mac), dhcpv4.WithClientIP(l.Prefix.Addr().AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptClientIdentifier(c.ClientID)), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(l.Server.AsSlice())))
}

// message returns the common parts of all messages except DHCPRELEASE.
func message(kind dhcpv4.MessageType, mac net.HardwareAddr, c Config) []dhcpv4.Modifier {
	codes := make(dhcpv4.OptionCodeList, len(c.Request))
	for i, code := range c.Request {
		codes[i] = dhcpv4.GenericOptionCode(code)
	}
	m := []dhcpv4.Modifier{
		dhcpv4.WithMessageType(kind), dhcpv4.WithHwAddr(mac),
		dhcpv4.WithOption(dhcpv4.OptMaxMessageSize(maxMessage)), dhcpv4.WithOption(dhcpv4.OptClientIdentifier(c.ClientID)),
	}
	if len(codes) > 0 {
		m = append(m, dhcpv4.WithOption(dhcpv4.OptParameterRequestList(codes...)))
	}
	for code, value := range c.Provide {
		m = append(m, dhcpv4.WithOption(dhcpv4.OptGeneric(dhcpv4.GenericOptionCode(code), []byte(value))))
	}
	return m
}

// refusal returns a *RefusedError for a DHCPNAK, and nil for other messages.
func refusal(answer *dhcpv4.DHCPv4) error {
	if answer.MessageType() != dhcpv4.MessageTypeNak {
		return nil
	}
	server, _ := netip.AddrFromSlice(answer.ServerIdentifier().To4())
	return &RefusedError{Server: server, Message: answer.Message()}
}
