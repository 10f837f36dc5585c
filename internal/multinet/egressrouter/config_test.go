package egressrouter

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var comparable = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

func TestParseReadsWhatOpenShiftAndTheControllerWrite(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      Conf
	}{
		{"the controller's", `{"cniVersion":"0.4.0","type":"egress-router","name":"egress-router-dual-ipv4","interfaceType":"macvlan","interfaceArgs":{"mode":"vepa","master":"bond0.100"},
			"ip":{"addresses":["192.168.12.99/24"],"gateway":"192.168.12.1","destinations":["443 TCP 203.0.113.26","8080 TCP 203.0.113.26 80","203.0.113.30"]}}`,
			Conf{Name: "egress-router-dual-ipv4", Master: "bond0.100", Mode: "vepa", Address: netip.MustParsePrefix("192.168.12.99/24"), Gateway: netip.MustParseAddr("192.168.12.1"),
				Destinations: []Destination{
					{Protocol: TCP, Port: 443, Address: netip.MustParseAddr("203.0.113.26"), TargetPort: 443},
					{Protocol: TCP, Port: 8080, Address: netip.MustParseAddr("203.0.113.26"), TargetPort: 80},
					{Address: netip.MustParseAddr("203.0.113.30")},
				}}},
		{"OpenShift's, with prefixes at the destinations, a log file, and the keys that libcni adds", `{"cniVersion":"0.4.0","type":"egress-router","name":"egress-router-cni-nad","prevResult":{},
			"ip":{"addresses":["192.168.3.10/24"],"destinations":["80 udp 10.100.3.0/30","8443 TCP 203.0.113.27/30 443"],"gateway":"192.168.3.1"},
			"log_file":"/tmp/egress-router-log","log_level":"debug","cni.dev/attachments":[]}`,
			Conf{Name: "egress-router-cni-nad", Mode: "bridge", Address: netip.MustParsePrefix("192.168.3.10/24"), Gateway: netip.MustParseAddr("192.168.3.1"), Debug: true,
				Destinations: []Destination{
					{Protocol: UDP, Port: 80, Address: netip.MustParseAddr("10.100.3.0"), TargetPort: 80},
					{Protocol: TCP, Port: 8443, Address: netip.MustParseAddr("203.0.113.27"), TargetPort: 443},
				}}},
		{"IPv6 with a link-local gateway, an MTU as OpenShift's plugin takes it, a mode in the letters of the API, no destinations", `{"type":"egress-router","name":"a","interfaceArgs":{"mode":"Private","mtu":"1400"},
			"ip":{"addresses":["fd12::99/64"],"gateway":"fe80::1","destinations":[]}}`,
			Conf{Name: "a", Mode: "private", MTU: 1400, Address: netip.MustParsePrefix("fd12::99/64"), Gateway: netip.MustParseAddr("fe80::1")}},
	} {
		got, errs := Parse([]byte(row.text))
		if len(errs) > 0 {
			t.Errorf("%s: %v", row.why, errs)
		}
		if diff := cmp.Diff(row.want, got, comparable); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

func TestParseReportsEveryError(t *testing.T) {
	const frame = `{"type":"egress-router","name":"a","interfaceArgs":{ARGS},"ip":{"addresses":[ADDRESSES],"gateway":"GATEWAY","destinations":[DESTINATIONS]}}`
	fill := func(pairs ...string) string {
		text := strings.NewReplacer(pairs...).Replace(frame)
		return strings.NewReplacer("ARGS", "", "ADDRESSES", `"192.168.12.99/24"`, "GATEWAY", "192.168.12.1", "DESTINATIONS", "").Replace(text)
	}
	for _, row := range []struct {
		why, text string
		want      []string
	}{
		{"no JSON", `{"type":`, []string{"is not valid JSON"}},
		{"no object", `[]`, []string{"not a JSON object"}},
		{"nothing", `{}`, []string{"type: Required", "name: Required", "ip.addresses: Required", "ip.gateway: Required"}},
		{"several addresses, which OpenShift's plugin ignores", fill("ADDRESSES", `"192.168.12.99/24","192.168.12.98/24"`), []string{`ip.addresses[1]: Invalid value: "192.168.12.98/24": is a further address`}},
		{"an address without a prefix", fill("ADDRESSES", `"192.168.12.99"`), []string{"ip.addresses[0]"}},
		{"an address that cannot be reached", fill("ADDRESSES", `"127.0.0.1/8"`), []string{"ip.addresses[0]"}},
		{"an address in the notation of IPv6", fill("ADDRESSES", `"::ffff:192.168.12.99/120"`), []string{"ip.addresses[0]"}},
		{"addresses of a wrong type", fill("ADDRESSES", `null`), []string{"ip.addresses[0]: Forbidden: is null; must be a string"}},
		{"a gateway outside", fill("GATEWAY", "192.168.13.1"), []string{"is not inside 192.168.12.0/24"}},
		{"the own address as the gateway", fill("GATEWAY", "192.168.12.99"), []string{"is the router's own address"}},
		{"a gateway of the other family", fill("GATEWAY", "fe80::1"), []string{"ip.gateway"}},
		{"no address as the gateway", fill("GATEWAY", "router.example.com"), []string{"ip.gateway"}},
		{"a second rule for a port", fill("DESTINATIONS", `"80 TCP 10.0.0.1","80 tcp 10.0.0.2"`), []string{"ip.destinations[1]", "second destination for port 80 of TCP"}},
		{"a fallback that is not the last", fill("DESTINATIONS", `"10.0.0.1","80 tcp 10.0.0.2"`), []string{"ip.destinations[0]", "write it last"}},
		{"two fallbacks", fill("DESTINATIONS", `"80 tcp 10.0.0.2","10.0.0.1","10.0.0.3"`), []string{"ip.destinations[1]", "ip.destinations[2]", "second destination for all ports"}},
		{"a destination of the other family", fill("DESTINATIONS", `"80 tcp fd00::1"`), []string{"fd00::1", "is an IPv6 address"}},
		{"the own address as a destination", fill("DESTINATIONS", `"192.168.12.99"`), []string{"ip.destinations", "own address"}},
		{"a port and an address of IPv6 glued together", fill("ADDRESSES", `"fd12::99/64"`, "GATEWAY", "fd12::1", "DESTINATIONS", `"80 TCP [fd00::1]:8080"`), []string{"ip.destinations[0]", "not an IP address"}},
		{"a mode that macvlan does not have", fill("ARGS", `"mode":"source"`), []string{"interfaceArgs.mode"}},
		{"a master that is no name", fill("ARGS", `"master":"../eth0"`), []string{"interfaceArgs.master"}},
		{"an MTU of a wrong size", fill("ARGS", `"mtu":70000`), []string{"interfaceArgs.mtu"}},
		{"an MTU too small for IPv6", fill("ARGS", `"mtu":1000`, "ADDRESSES", `"fd12::99/64"`, "GATEWAY", "fe80::1"), []string{"interfaceArgs.mtu", "1280"}},
		{"a key with other letters, which Go's decoder takes for the same", fill("ARGS", `"ma\u017fter":"eth0"`), []string{"is not a key"}},
		{"a key in capitals", fill("ARGS", `"Master":"eth0"`), []string{"did you mean master?"}},
		{"a repeated key", fill("ARGS", `"master":"a","m\u0061ster":"b"`), []string{"interfaceArgs.master", "repeated"}},
		{"another plugin's configuration", strings.Replace(fill(), "egress-router", "macvlan", 1), []string{"type: Invalid", "egress-router"}},
		{"IPAM, which would be ignored", strings.Replace(fill(), `"name"`, `"ipam":{"type":"dhcp"},"name"`, 1), []string{"ipam"}},
		{"addresses by pod, of OpenShift's plugin", strings.Replace(fill(), `"name"`, `"podIP":{},"name"`, 1), []string{"podIP"}},
		{"several errors at once", fill("ARGS", `"mode":"x"`, "GATEWAY", "y", "DESTINATIONS", `"0 TCP 10.0.0.1","1 ICMP 10.0.0.1","1 2","1 TCP 224.0.0.1"`),
			[]string{"interfaceArgs.mode", "ip.gateway", "ip.destinations[0]", "ip.destinations[1]", "ip.destinations[2]", "ip.destinations[3]"}},
	} {
		_, errs := Parse([]byte(row.text))
		all := ""
		for _, err := range errs {
			all += err.Error() + "\n"
		}
		for _, want := range row.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is not in:\n%s", row.why, want, all)
			}
		}
	}
}

func TestTheSizeOfAConfigurationIsBounded(t *testing.T) {
	for _, text := range []string{
		strings.Repeat(" ", maxConfig+1),
		`{"type":"egress-router","name":"a","ip":{"addresses":["10.0.0.9/24"],"gateway":"10.0.0.1","destinations":[` + strings.Repeat(`"10.0.1.1",`, maxDestinations) + `"10.0.1.1"]}}`,
	} {
		if _, errs := Parse([]byte(text)); len(errs) != 1 {
			t.Errorf("%d errors", len(errs))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"type":"egress-router","name":"a","interfaceArgs":{"mode":"bridge"},"ip":{"addresses":["fd12::99/64"],"gateway":"fe80::1","destinations":["80 TCP fd00::1 81","fd00::2"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, errs := Parse([]byte(text))
		if len(errs) > 0 {
			return
		}
		if !c.Address.IsValid() || !c.Gateway.IsValid() || c.Name == "" || Rules(&c, "net1").String() == "" {
			t.Errorf("%+v", c)
		}
	})
}
