package topology

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ block, router, management, mac, reason string }{
		{"10.128.2.0/23", "10.128.2.1/23", "10.128.2.2/23", "0a:58:0a:80:02:02", "hardware addresses contain IPv4 addresses"},
		{"fd01:0:0:1::/64", "fd01:0:0:1::1/64", "fd01:0:0:1::2/64", "0a:58:c9:3b:a6:f8", "hardware addresses have a hash of IPv6 addresses"},
	} {
		block := netip.MustParsePrefix(tt.block)
		got := []string{RouterAddress(block).String(), ManagementAddress(block).String(), MAC(ManagementAddress(block).Addr()).String()}
		if diff := cmp.Diff([]string{tt.router, tt.management, tt.mac}, got); diff != "" {
			t.Errorf("%s: %s", tt.reason, diff)
		}
	}
}

func TestDecodeNodeSubnets(t *testing.T) {
	for _, tt := range []struct{ value, want, err, reason string }{
		{`{"default":["10.128.0.0/23"]}`, `{"default":["10.128.0.0/23"]}`, "", "one block"},
		{`{"default":"10.128.0.0/23"}`, `{"default":["10.128.0.0/23"]}`, "", "early versions wrote a string"},
		{`{"default":["10.128.0.0/23","fd01::/64"],"blue":["1.0.0.0/8"]}`, `{"default":["10.128.0.0/23","fd01::/64"]}`, "",
			"both families; other networks are none of ours"},
		{`{}`, "", `annotation k8s.ovn.org/node-subnets: network "default" must have a list of blocks, such as ["10.128.0.0/23"]`, "no network"},
		{`{"default":[]}`, "", `annotation k8s.ovn.org/node-subnets: network "default" has no block`, "no block"},
		{`{"default":["10.128.0.9/23"]}`, "", "annotation k8s.ovn.org/node-subnets: 10.128.0.9/23 is not a block: its host bits must be 0", "host bits"},
		{`{"default":["10.128.0.0/30"]}`, "", "annotation k8s.ovn.org/node-subnets: block 10.128.0.0/30 is too small: it must have 8 addresses or more", "no room"},
		{`{"default":["10.0.0.0/24","10.1.0.0/24"]}`, "", "annotation k8s.ovn.org/node-subnets: more than one block of the IP family of 10.1.0.0/24", "one family"},
	} {
		blocks, err := DecodeNodeSubnets(tt.value)
		if message(err) != tt.err {
			t.Errorf("%s: error %q, want %q", tt.reason, message(err), tt.err)
		}
		if err == nil && EncodeNodeSubnets(blocks) != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, EncodeNodeSubnets(blocks), tt.want)
		}
	}
}

func TestDecodePod(t *testing.T) {
	single := `{"default":{"ip_addresses":["10.128.0.5/23"],"mac_address":"0a:58:0a:80:00:05","gateway_ips":["10.128.0.1"],` +
		`"ip_address":"10.128.0.5/23","gateway_ip":"10.128.0.1","role":"primary"}}`
	dual := `{"default":{"ip_addresses":["10.128.0.5/23","fd01::5/64"],"mac_address":"0a:58:0a:80:00:05","gateway_ips":["10.128.0.1","fd01::1"],"role":"primary"}}`
	for _, tt := range []struct{ value, err, reason string }{
		{single, "", "one address"},
		{dual, "", "both families"},
		{`{"blue":{}}`, `annotation k8s.ovn.org/pod-networks: network "default" is missing`, "another network"},
		{`{"default":{"ip_addresses":["10.128.0.5/23"],"mac_address":"x","gateway_ips":["10.128.0.1"]}}`,
			`annotation k8s.ovn.org/pod-networks: "x" is not a hardware address of 6 bytes`, "no hardware address"},
		{`{"default":{"mac_address":"0a:58:0a:80:00:05"}}`,
			"annotation k8s.ovn.org/pod-networks: 0 addresses: a pod has one, or one of each IP family", "no address"},
		{`{"default":{"ip_addresses":["10.128.0.5/23"],"mac_address":"0a:58:0a:80:00:05"}}`,
			"annotation k8s.ovn.org/pod-networks: 0 gateways for 1 addresses: each address needs one", "no gateway"},
		{`{"default":{"ip_addresses":["10.128.0.5/23"],"mac_address":"0a:58:0a:80:00:05","gateway_ips":["10.1.0.1"]}}`,
			"annotation k8s.ovn.org/pod-networks: gateway 10.1.0.1 does not belong to address 10.128.0.5/23", "a gateway elsewhere"},
		{`{"default":{"ip_addresses":["10.128.0.5/23","10.128.0.6/23"],"mac_address":"0a:58:0a:80:00:05","gateway_ips":["10.128.0.1","10.128.0.1"]}}`,
			"annotation k8s.ovn.org/pod-networks: two addresses of one IP family", "one family twice"},
	} {
		pod, err := DecodePod(tt.value)
		if message(err) != tt.err {
			t.Errorf("%s: error %q, want %q", tt.reason, message(err), tt.err)
		}
		if err == nil && pod.Encode() != tt.value {
			t.Errorf("%s: encoded again it is %s", tt.reason, pod.Encode())
		}
	}
}

// FuzzAnnotations: reading annotations with any content ends without a panic, and what is read is written the same way.
func FuzzAnnotations(f *testing.F) {
	f.Add(`{"default":["10.128.0.0/23"]}`)
	f.Add(`{"default":{"ip_addresses":["10.128.0.5/23"],"mac_address":"0a:58:0a:80:00:05","gateway_ips":["10.128.0.1"]}}`)
	f.Fuzz(func(t *testing.T, value string) {
		if blocks, err := DecodeNodeSubnets(value); err == nil {
			if again, err := DecodeNodeSubnets(EncodeNodeSubnets(blocks)); err != nil || cmp.Diff(blocks, again, cmp.Comparer(equal)) != "" {
				t.Errorf("%v became %v: %v", blocks, again, err)
			}
		}
		if pod, err := DecodePod(value); err == nil {
			if again, err := DecodePod(pod.Encode()); err != nil || again.Encode() != pod.Encode() {
				t.Errorf("%s became %s: %v", pod.Encode(), again.Encode(), err)
			}
		}
	})
}

func equal(a, b netip.Prefix) bool { return a == b }

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
