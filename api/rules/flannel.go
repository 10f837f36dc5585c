package rules

// flannelRules are the rules of flannel's settings.
var flannelRules = []Rule{
	{
		ID: "flannel-interface-name", At: flannel(".interface"),
		Valid: `self.matches('^[^[:space:]/:]{0,15}$') && !(self in ['.', '..'])`,
		Text:  "self", Sentence: "is not the name of an interface; it has at most 15 characters without slash, colon or space, e.g. eth1",
	},
	mtuOfIPv6("flannel-mtu-range", "flannelConfig", "NetworkConfig", "clusterNetworks"),
	{
		ID: "flannel-vxlan-block", At: flannel(""), Field: ".vxlan",
		Valid:    `!has(self.vxlan) || (has(self.backend) && self.backend == 'vxlan')`,
		Sentence: "is set but the backend is %s; remove it, or set backend to vxlan",
		Args:     []string{`has(self.backend) && self.backend != "" ? self.backend : 'host-gw'`},
	},
	{
		ID: "flannel-backend", At: flannel(".backend"),
		Valid: `self in ["", 'host-gw', 'vxlan']`,
		Text:  "self", Sentence: "is not a backend; use host-gw if all nodes are on one link, vxlan if there are routers between them",
	},
	{
		ID: "flannel-etcd-one-of", At: flannel(".etcd"),
		Valid:    `!has(self.external) || !has(self.managed)`,
		Sentence: "external and managed are both set; remove one (without either, the operator runs etcd)",
	},
	{
		ID: "flannel-etcd-credentials", At: flannel(".etcd.external"), Field: ".endpoints",
		Valid:    `!self.endpoints.exists(e, e.contains('@'))`,
		Sentence: "a URL holds a user name or a password, which would be readable on every node; use clientCertificateSecret instead",
	},
	{
		ID: "flannel-etcd-tls", At: flannel(".etcd.external"),
		Valid:    `!self.endpoints.exists(e, e.startsWith('https://')) || (has(self.caConfigMap) && self.caConfigMap != "")`,
		Sentence: "caConfigMap is required with https endpoints; name the ConfigMap whose key ca-bundle.crt holds the authorities of the members, in the operator's namespace",
	},
	{
		ID: "flannel-etcd-tls", At: flannel(".etcd.external"),
		Valid: `!self.endpoints.exists(e, e.startsWith('https://')) || (has(self.clientCertificateSecret)
			&& self.clientCertificateSecret != "")`,
		Sentence: "clientCertificateSecret is required with https endpoints; name the Secret of type kubernetes.io/tls with the certificate to present to the members, in the operator's namespace",
	},
	{
		ID: "flannel-etcd-schemes", At: flannel(".etcd.external"), Field: ".endpoints",
		Valid:    `!self.endpoints.exists(e, e.startsWith('https://')) || !self.endpoints.exists(e, e.startsWith('http://'))`,
		Sentence: "http and https are mixed; use one scheme for all members",
	},
	{
		ID: "flannel-etcd-endpoint", At: flannel(".etcd.external.endpoints[]"),
		Valid: `self.contains('@') || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ""
			&& url(self).getPort() != "" && url(self).getEscapedPath() == "" && url(self).getQuery().size() == 0)`,
		Text: "self", Sentence: "is not the URL of a member; write scheme, host and port, e.g. https://192.0.2.10:2379",
	},
	{
		ID: "flannel-etcd-port-collision", At: flannel(".etcd.managed"),
		Valid:    `(has(self.clientPort) ? self.clientPort : 12379) != (has(self.peerPort) ? self.peerPort : 12380)`,
		Sentence: "clientPort and peerPort are both %d; choose two different ports",
		Args:     []string{"(has(self.clientPort) ? self.clientPort : 12379)"},
	},
	{
		ID: "flannel-vxlan-port-range", At: flannel(".vxlan.port"),
		Valid:  `self >= 1 && self <= 65535`,
		Number: "self", Sentence: "is out of range; it must be 1 to 65535",
	},
	{
		ID: "flannel-etcd-port-range", At: flannel(".etcd.managed.clientPort", ".etcd.managed.peerPort"),
		Valid:  `self >= 1 && self <= 65535`,
		Number: "self", Sentence: "is out of range; it must be 1 to 65535",
	},
	{
		ID: "flannel-etcd-data-dir", At: flannel(".etcd.managed.dataDir"),
		Valid: `self == "" || (self.matches('^(/[^/:]+)+$') && !self.matches('/[.]{1,2}(/|$)'))`,
		Text:  "self", Sentence: "is not the path of a directory; write an absolute path in its shortest form, e.g. /var/lib/cno/flannel-etcd",
	},
	{
		ID: "flannel-etcd-prefix", At: flannel(".etcd.prefix"),
		Valid: `self == "" || self.matches('^(/[^/]+)+$')`,
		Text:  "self", Sentence: "is not a prefix of keys; it must begin with a slash, not end with one, and have no empty parts, e.g. /coreos.com/network",
	},
	{
		ID: "flannel-mtu-range", At: flannel(".mtu"),
		Valid:  `self >= 576 && self <= 65535`,
		Number: "self", Sentence: "is out of range; it must be 576 to 65535 (IPv6 needs at least 1280)",
	},
	{
		ID: "flannel-vxlan-vni-range", At: flannel(".vxlan.vni"),
		Valid:  `self >= 1 && self <= 16777215`,
		Number: "self", Sentence: "is out of range; it must be 1 to 16777215",
	},
	mtuOfIPv6("flannel-mtu-range", "flannelConfig", "Network", "clusterNetwork"),
}
