package crds_test

import "testing"

func TestFlannelSettingsAreRefusedWithTheWayOut(t *testing.T) {
	const at = "spec.defaultNetwork.flannelConfig"
	flannel := func(settings string) string { return `{spec: {defaultNetwork: {flannelConfig: ` + settings + `}}}` }
	etcd := func(settings string) string { return flannel(`{etcd: ` + settings + `}`) }
	checkRefusals(t, networkBase, []refusal{
		{"a backend that is not built", flannel(`{backend: wireguard}`), []string{
			at + `.backend: Invalid value: "wireguard": "wireguard" is not a backend; use host-gw if all nodes are on one link, vxlan if there are routers between them`}},
		{"settings of vxlan without vxlan, which is not the default", flannel(`{vxlan: {vni: 5}}`), []string{
			at + `.vxlan: Invalid value: is set but the backend is host-gw; remove it, or set backend to vxlan`}},
		{"vxlan has 24 bits for the network", flannel(`{backend: vxlan, vxlan: {vni: 16777216, port: 65536}}`), []string{
			at + `.vxlan.vni: Invalid value: 16777216: 16777216 is out of range; it must be 1 to 16777215`,
			at + `.vxlan.port: Invalid value: 65536: 65536 is out of range; it must be 1 to 65535`}},
		{"an MTU of nothing", flannel(`{mtu: 0}`), []string{
			at + `.mtu: Invalid value: 0: 0 is out of range; it must be 576 to 65535 (IPv6 needs at least 1280), or left out for the largest that the nodes support`}},
		{"the kernel would not take the name", flannel(`{interface: eth0/1}`), []string{
			at + `.interface: Invalid value: "eth0/1": "eth0/1" is not the name of an interface; it has at most 15 ASCII letters, digits, dots, dashes, underscores and at signs, not beginning with a dot, a dash or an at sign, e.g. eth1; patterns are not supported; leave it out for the interface of the default route`}},
		{"no other node is reached through it", flannel(`{interface: lo}`), []string{
			at + `.interface: Invalid value: "lo": "lo" is the loopback interface, through which no other node can be reached; write the one that leads to the other nodes, or leave it out for the interface of the default route`}},
		{"a name of 16 characters", flannel(`{interface: abcdefghijklmnop}`), []string{
			at + `.interface: Invalid value: "abcdefghijklmnop": "abcdefghijklmnop" is not the name of an interface; it has at most 15 ASCII letters, digits, dots, dashes, underscores and at signs, not beginning with a dot, a dash or an at sign, e.g. eth1; patterns are not supported; leave it out for the interface of the default route`}},
		{"subnets are kept in one place", etcd(`{managed: {}, external: {endpoints: ["http://192.0.2.1:2379"]}}`), []string{
			at + `.etcd: Invalid value: external and managed are both set; remove one (without either, the operator runs etcd)`}},
		{"keys would not be found under it", etcd(`{prefix: coreos.com/network/}`), []string{
			at + `.etcd.prefix: Invalid value: "coreos.com/network/": "coreos.com/network/" is not a prefix of keys; it must begin with a slash, not end with one, and have no empty parts, e.g. /coreos.com/network`}},
		{"no member", etcd(`{external: {endpoints: []}}`), []string{
			at + `.etcd.external.endpoints: Invalid value: 0: ` + at + `.etcd.external.endpoints in body should have at least 1 items`}},
		{"a member without a scheme", etcd(`{external: {endpoints: ["192.0.2.1:2379"]}}`), []string{
			at + `.etcd.external.endpoints[0]: Invalid value: "192.0.2.1:2379": "192.0.2.1:2379" is not the URL of a member; write scheme, host and port, e.g. https://192.0.2.10:2379`}},
		{"a member without a port", etcd(`{external: {endpoints: ["http://192.0.2.1"]}}`), []string{
			at + `.etcd.external.endpoints[0]: Invalid value: "http://192.0.2.1": "http://192.0.2.1" is not the URL of a member; write scheme, host and port, e.g. https://192.0.2.10:2379`}},
		{"a password would be readable on every node; the message does not repeat it", etcd(`{external: {endpoints: ["http://root:secret@192.0.2.1:2379"]}}`), []string{
			at + `.etcd.external.endpoints: Invalid value: holds a URL with a user name or a password, which would be readable on every node; use clientCertificateSecret instead`}},
		{"a certificate cannot be used without what checks it", etcd(`{external: {endpoints: ["https://192.0.2.1:2379"]}}`), []string{
			at + `.etcd.external.caConfigMap: Invalid value: is required with https endpoints; name the ConfigMap, in the operator's namespace, whose key ca-bundle.crt holds the CA certificates of the members`,
			at + `.etcd.external.clientCertificateSecret: Invalid value: is required with https endpoints; name the Secret of type kubernetes.io/tls, in the operator's namespace, with the certificate to present to the members`}},
		{"flannel's client has one setting for all members", etcd(`{external: {endpoints: ["https://192.0.2.1:2379", "http://192.0.2.2:2379"], caConfigMap: a, clientCertificateSecret: b}}`), []string{
			at + `.etcd.external.endpoints: Invalid value: has http and https members; use one scheme for all`}},
		{"the default of the other port counts", etcd(`{managed: {clientPort: 12380}}`), []string{
			at + `.etcd.managed.peerPort: Invalid value: 12380 is the client port too; choose two different ports`}},
		{"a directory relative to what?", etcd(`{managed: {dataDir: var/lib/etcd}}`), []string{
			at + `.etcd.managed.dataDir: Invalid value: "var/lib/etcd": "var/lib/etcd" is not the path of a directory; write an absolute path in its shortest form, without a colon, e.g. /var/lib/cno/flannel-etcd`}},
		{"a line break in a path", etcd(`{managed: {dataDir: "/data\nx"}}`), []string{
			at + `.etcd.managed.dataDir: Invalid value: "/data\nx": has a line break or another control character; write the path without it, e.g. /var/lib/cno/flannel-etcd`}},
		{"the name of a Service", etcd(`{external: {endpoints: ["http://etcd.default.svc.cluster.local:2379"]}}`), []string{
			at + `.etcd.external.endpoints[0]: Invalid value: "http://etcd.default.svc.cluster.local:2379": "http://etcd.default.svc.cluster.local:2379" has a name of the cluster's DNS, which nodes cannot resolve: cluster DNS runs on the network that needs this etcd; write the address of the member, e.g. https://192.0.2.10:2379`}},
		{"a path that leaves its directory", etcd(`{managed: {dataDir: /var/lib/../../etc}}`), []string{
			at + `.etcd.managed.dataDir: Invalid value: "/var/lib/../../etc": "/var/lib/../../etc" is not the path of a directory; write an absolute path in its shortest form, without a colon, e.g. /var/lib/cno/flannel-etcd`}},
	})
}
