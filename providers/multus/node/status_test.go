package node

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

func TestStatus(t *testing.T) {
	for _, row := range []struct{ why, networks, want string }{
		{"no network", `[]`, `[]`},
		{"the default network, as flannel's plugins return it",
			`[{"name":"flannel","interface":"eth0","default":true,"mtu":1450,"result":{"cniVersion":"1.0.0","interfaces":[{"name":"cni0","mac":"02:00:00:00:00:01"},{"name":"veth1"},` +
				`{"name":"eth0","mac":"02:00:00:00:00:02","sandbox":"/run/netns/x"}],"ips":[{"interface":2,"address":"10.244.1.5/24","gateway":"10.244.1.1"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.244.1.1"}]}}]`,
			`[{"name":"flannel","interface":"eth0","ips":["10.244.1.5"],"mac":"02:00:00:00:00:02","mtu":1450,"default":true,"dns":{},"default-route":["10.244.1.1"],"gateway":["10.244.1.1"]}]`},
		{"a plugin that makes two interfaces, and a device",
			`[{"name":"ns/two","interface":"net1","deviceID":"0000:00:01.0","result":{"cniVersion":"1.1.0","interfaces":[{"name":"net1","sandbox":"/n","mtu":9000},{"name":"net1-b","sandbox":"/n"}],` +
				`"ips":[{"interface":0,"address":"192.0.2.5/24"},{"interface":1,"address":"2001:db8::5/64"}],"dns":{"nameservers":["192.0.2.53"],"domain":"d","search":["s"]}}}]`,
			`[{"name":"ns/two","interface":"net1","ips":["192.0.2.5"],"mtu":9000,"default":false,"dns":{"nameservers":["192.0.2.53"],"domain":"d","search":["s"]},"device-info":{"type":"pci","version":"1.0.0","pci":{"pci-address":"0000:00:01.0"}}},` +
				`{"name":"ns/two","interface":"net1-b","ips":["2001:db8::5"],"default":false,"dns":{"nameservers":["192.0.2.53"],"domain":"d","search":["s"]},"device-info":{"type":"pci","version":"1.0.0","pci":{"pci-address":"0000:00:01.0"}}}]`},
		{"device information of a plugin", `[{"name":"ns/a","interface":"net1","deviceID":"x","deviceInfo":{"type":"vdpa","version":"1.1.0","vdpa":{"driver":"vhost"}},"result":{"cniVersion":"1.0.0","ips":[]}}]`,
			`[{"name":"ns/a","interface":"net1","default":false,"dns":{},"device-info":{"type":"vdpa","version":"1.1.0","vdpa":{"driver":"vhost"}}}]`},
		{"addresses that name no interface", `[{"name":"ns/a","interface":"net1","result":{"cniVersion":"1.0.0","ips":[{"address":"192.0.2.5/24"}]}}]`,
			`[{"name":"ns/a","interface":"net1","ips":["192.0.2.5"],"default":false,"dns":{}}]`},
		{"a result of an old version", `[{"name":"ns/a","interface":"net1","result":{"cniVersion":"0.3.1","interfaces":[{"name":"net1","sandbox":"/n"}],"ips":[{"version":"4","interface":0,"address":"192.0.2.5/24"}]}}]`,
			`[{"name":"ns/a","interface":"net1","ips":["192.0.2.5"],"default":false,"dns":{}}]`},
	} {
		t.Run(row.why, func(t *testing.T) {
			var networks []wire.Network
			if err := json.Unmarshal([]byte(row.networks), &networks); err != nil {
				t.Fatal(err)
			}
			text, err := statusOf(networks)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(row.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAResultThatCannotBeReadIsAnError(t *testing.T) {
	for _, raw := range []string{`{`, `{"cniVersion":"9.0.0"}`, ``} {
		if _, err := statusOf([]wire.Network{{Name: "a", Result: json.RawMessage(raw)}}); err == nil {
			t.Errorf("%q is read", raw)
		}
	}
}
