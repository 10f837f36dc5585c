package rules

// The sentences about flannel's settings.
var (
	FlannelNetworkSize   = New("flannel-network-size", "is too small for flannel, which needs at least a /%d; use a shorter prefix, e.g. 10.128.0.0/14")
	FlannelHostPrefix    = New("flannel-host-prefix", "must be between %d and 30 for a /%d: flannel divides the pool into at least four blocks, and never assigns the first")
	FlannelInterfaceName = New("flannel-interface-name", "is not the name of an interface; it has at most 15 ASCII letters, digits, dots, dashes, underscores and at signs, "+
		"not beginning with a dot, a dash or an at sign, e.g. eth1; patterns are not supported; leave it out for the interface of the default route")
	FlannelLoopback    = New("flannel-interface-name", "is the loopback interface, through which no other node can be reached; write the one that leads to the other nodes, or leave it out for the interface of the default route")
	FlannelMTU         = New("flannel-mtu-range", "is out of range; it must be 576 to 65535 (IPv6 needs at least 1280), or left out for the largest that the nodes support")
	FlannelMTUOfIPv6   = New("flannel-mtu-range", smallForIPv6)
	FlannelVXLANUnused = New("flannel-vxlan-block", "is set but the backend is %s; remove it, or set backend to vxlan")
	FlannelVXLANPort   = New("flannel-vxlan-port-range", "is out of range; it must be 1 to 65535")
	FlannelVXLANVNI    = New("flannel-vxlan-vni-range", "is out of range; it must be 1 to 16777215")
	FlannelBackend     = New("flannel-backend", "is not a backend; use host-gw if all nodes are on one link, vxlan if there are routers between them")
)

// The sentences about the etcd of a network. The identifiers of the rules begin with the network's name (Sentence.For).
var (
	EtcdOneOf             = New("etcd-one-of", "external and managed are both set; remove one (without either, the operator runs etcd)")
	EtcdPrefix            = New("etcd-prefix", "is not a prefix of keys; it must begin with a slash, not end with one, and have no empty parts, e.g. %s")
	EtcdPrefixLetters     = New("etcd-prefix", "is not a prefix of keys; it must consist of ASCII letters, digits, dots, dashes, underscores and slashes, e.g. %s")
	EtcdPrefixTaken       = New("etcd-prefix", "is where the API server keeps its objects; choose another prefix, e.g. %s")
	EtcdSamePorts         = New("etcd-port-collision", "is the client port too; choose two different ports")
	EtcdPortTaken         = New("etcd-port-collision", "is the port of %s on the same nodes; choose another")
	EtcdPort              = New("etcd-port-range", "is out of range; it must be 1 to 65535, or left out for the default")
	EtcdDataDir           = New("etcd-data-dir", "is not the path of a directory; write an absolute path in its shortest form, without a colon, e.g. %s")
	EtcdDataDirControl    = New("etcd-data-dir", "has a line break or another control character; write the path without it, e.g. %s")
	EtcdDataDirTaken      = New("etcd-data-dir", "shares %s with other programs of the node; choose a separate directory, e.g. %s")
	EtcdEndpointsRequired = New("etcd-endpoints-required", "names no member of the etcd; write the URL of each, e.g. https://192.0.2.10:2379")
	EtcdEndpoint          = New("etcd-endpoint", "is not the URL of a member; write scheme, host and port, e.g. https://192.0.2.10:2379")
	EtcdEndpointHost      = New("etcd-endpoint", "has a host that is neither an IP address nor a DNS name; write it like https://192.0.2.10:2379")
	EtcdEndpointCluster   = New("etcd-endpoint", "has a name of the cluster's DNS, which nodes cannot resolve: cluster DNS runs on the network that needs this etcd; write the address of the member, e.g. https://192.0.2.10:2379")
	EtcdEndpointTwice     = New("etcd-endpoint", "is named twice; remove one")
	EtcdCredentials       = New("etcd-credentials", "holds a URL with a user name or a password, which would be readable on every node; use clientCertificateSecret instead")
	EtcdSchemes           = New("etcd-schemes", "has http and https members; use one scheme for all")
	EtcdCA                = New("etcd-tls", "is required with https endpoints; name the ConfigMap, in the operator's namespace, whose key ca-bundle.crt holds the CA certificates of the members")
	EtcdClientCertificate = New("etcd-tls", "is required with https endpoints; name the Secret of type kubernetes.io/tls, in the operator's namespace, with the certificate to present to the members")
	EtcdTLSUnused         = New("etcd-tls", "has no effect with http endpoints; remove it, or use https")
	EtcdObjectName        = New("etcd-object-name", "cannot be the name of an object; use lower-case letters, digits, dashes and dots")
)

// ofFlannel is the name in the identifiers of rules for flannel's etcd.
const ofFlannel = "flannel"

// flannelRules are the rules of flannel's settings.
var flannelRules = []Rule{
	{
		Sentence: FlannelInterfaceName,
		At:       flannel(".interface"),
		Valid:    `self == "" || self.matches('^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}$')`,
		Text:     "self",
	},
	{
		Sentence: FlannelLoopback,
		At:       flannel(".interface"),
		Valid:    `self != 'lo'`,
		Text:     "self",
	},
	mtuOfIPv6(FlannelMTUOfIPv6, "flannelConfig", "NetworkConfig", "clusterNetworks"),
	{
		Sentence: FlannelVXLANUnused,
		At:       flannel(""), Field: ".vxlan",
		Valid: `!has(self.vxlan) || (has(self.backend) && self.backend == 'vxlan')`,
		Args:  []string{`has(self.backend) && self.backend != "" ? self.backend : 'host-gw'`},
	},
	{
		Sentence: FlannelBackend,
		At:       flannel(".backend"),
		Valid:    `self in ["", 'host-gw', 'vxlan']`,
		Text:     "self",
	},
	{
		Sentence: EtcdOneOf.For(ofFlannel),
		At:       flannel(".etcd"),
		Valid:    `!has(self.external) || !has(self.managed)`,
	},
	{
		Sentence: EtcdCredentials.For(ofFlannel),
		At:       flannel(".etcd.external"), Field: ".endpoints",
		Valid: `!self.endpoints.exists(e, e.contains('@'))`,
	},
	{
		Sentence: EtcdCA.For(ofFlannel),
		At:       flannel(".etcd.external"), Field: ".caConfigMap",
		Valid: `!self.endpoints.exists(e, e.startsWith('https://')) || (has(self.caConfigMap) && self.caConfigMap != "")`,
	},
	{
		Sentence: EtcdClientCertificate.For(ofFlannel),
		At:       flannel(".etcd.external"), Field: ".clientCertificateSecret",
		Valid: `!self.endpoints.exists(e, e.startsWith('https://')) || (has(self.clientCertificateSecret)
			&& self.clientCertificateSecret != "")`,
	},
	{
		Sentence: EtcdSchemes.For(ofFlannel),
		At:       flannel(".etcd.external"), Field: ".endpoints",
		Valid: `!self.endpoints.exists(e, e.startsWith('https://')) || !self.endpoints.exists(e, e.startsWith('http://'))`,
	},
	{
		Sentence: EtcdEndpoint.For(ofFlannel),
		At:       flannel(".etcd.external.endpoints[]"),
		Valid: `self.contains('@') || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ""
			&& url(self).getPort() != "" && url(self).getEscapedPath() == "" && url(self).getQuery().size() == 0)`,
		Text: "self",
	},
	{
		Sentence: EtcdEndpointCluster.For(ofFlannel),
		At:       flannel(".etcd.external.endpoints[]"),
		Valid:    `self.contains('@') || !self.matches('(?i)[.](svc|cluster[.]local):[0-9]+$')`,
		Text:     "self",
	},
	{
		Sentence: EtcdSamePorts.For(ofFlannel),
		At:       flannel(".etcd.managed"), Field: ".peerPort",
		Valid:  `(has(self.clientPort) ? self.clientPort : 12379) != (has(self.peerPort) ? self.peerPort : 12380)`,
		Number: "(has(self.peerPort) ? self.peerPort : 12380)",
	},
	{
		Sentence: FlannelVXLANPort,
		At:       flannel(".vxlan.port"),
		Valid:    `self >= 1 && self <= 65535`,
		Number:   "self",
	},
	{
		Sentence: EtcdPort.For(ofFlannel),
		At:       flannel(".etcd.managed.clientPort", ".etcd.managed.peerPort"),
		Valid:    `self >= 1 && self <= 65535`,
		Number:   "self",
	},
	{
		Sentence: EtcdDataDir.For(ofFlannel),
		At:       flannel(".etcd.managed.dataDir"),
		Valid:    `self == "" || (self.matches('^(/[^/:]+)+$') && !self.matches('/[.]{1,2}(/|$)'))`,
		Text:     "self",
		Args:     []string{"'/var/lib/cno/flannel-etcd'"},
	},
	{
		Sentence: EtcdDataDirControl.For(ofFlannel),
		At:       flannel(".etcd.managed.dataDir"),
		Valid:    `!self.matches('[\\p{Cc}\\p{Zl}\\p{Zp}]')`,
		Args:     []string{"'/var/lib/cno/flannel-etcd'"},
	},
	{
		Sentence: EtcdPrefix.For(ofFlannel),
		At:       flannel(".etcd.prefix"),
		Valid:    `self == "" || self.matches('^(/[^/]+)+$')`,
		Text:     "self",
		Args:     []string{"'/coreos.com/network'"},
	},
	{
		Sentence: FlannelMTU,
		At:       flannel(".mtu"),
		Valid:    `self >= 576 && self <= 65535`,
		Number:   "self",
	},
	{
		Sentence: FlannelVXLANVNI,
		At:       flannel(".vxlan.vni"),
		Valid:    `self >= 1 && self <= 16777215`,
		Number:   "self",
	},
	mtuOfIPv6(FlannelMTUOfIPv6, "flannelConfig", "Network", "clusterNetwork"),
}
