package preview_test

// mistakesOfOVN are mistakes in the settings of OVN-Kubernetes.
func mistakesOfOVN() []mistake {
	ovn := func(config string) string { return "defaultNetwork: {ovnKubernetesConfig: {" + config + "}}" }
	return []mistake{
		{"a gateway that bypasses the routes of nodes", ovn("gatewayConfig: {routingViaHost: false}"), true, []string{"gatewayConfig.routingViaHost", "is not part of this version; set it to true, or leave gatewayConfig out"}},
		{"an unknown mode of forwarding", ovn("gatewayConfig: {ipForwarding: Sometimes}"), false, []string{"gatewayConfig.ipForwarding", `"Sometimes"`, "use Global, or leave it out"}},
		{"an internal subnet in the range of pods", ovn("ipv4: {internalJoinSubnet: 10.128.0.0/16}"), true, []string{"internalJoinSubnet", "10.128.0.0/16", "overlap"}},
		{"an internal subnet that is too small for the nodes", ovn("ipv4: {internalJoinSubnet: 100.66.0.0/29}"), true, []string{"internalJoinSubnet", "100.66.0.0/29", "is not large enough for the maximum number of nodes"}},
		{"a block that leaves no address for the router", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 30}]", true, []string{"hostPrefix", "must be between 15 and 29 for a /14"}},
		{"a Geneve port out of range", ovn("genevePort: 99999"), false, []string{"genevePort", "99999 is out of range; it must be 1 to 65535"}},
		{"another Geneve port while the network is in use", ovn("genevePort: 6082"), false, []string{"genevePort", "nodes with different ports do not reach one another", "cno plan prints the hash"}},
		{"a tunnel MTU out of range", ovn("mtu: 70000"), false, []string{"mtu", "70000 is out of range; it must be 576 to 65535"}},
		{"another tunnel MTU while the network is in use", ovn("mtu: 1300"), false, []string{"mtu", `"1400" -> "1300"`, "cno plan prints the hash"}},
		{"a tunnel MTU that the nodes' links do not carry", ovn("mtu: 1500"), true, []string{"ovnKubernetesConfig.mtu", "needs links of at least 1558 (Geneve adds 58), and a node has one of 1500; use 1442 or less"}},
		{"an unknown mode of IPsec", ovn("ipsecConfig: {mode: Sometimes}"), false, []string{"ipsecConfig.mode", `"Sometimes"`}},
		{"settings of IPsec that its mode does not use", ovn("ipsecConfig: {mode: External, full: {encapsulation: Always}}"), false, []string{"ipsecConfig", "full is forbidden when mode is not Full"}},
		{"a destination of audit messages without an address", ovn("policyAuditConfig: {destination: 'udp:syslog:514'}"), true, []string{"policyAuditConfig.destination", `"udp:syslog:514" is not a destination of audit messages; use null, libc, udp:IP:PORT with an IP address`}},
		{"an overlay to nodes without OVN", ovn("hybridOverlayConfig: {hybridClusterNetwork: [{cidr: 10.132.0.0/14, hostPrefix: 23}]}"), true, []string{"hybridOverlayConfig", "is not part of this version; remove it"}},
		{"routes to pods that are to be advertised", ovn("routeAdvertisements: Enabled"), false, []string{"routeAdvertisements: Enabled needs FRR; add FRR to spec.additionalRoutingCapabilities.providers"}},
		{"a collector of flows without a port", "exportNetworkFlows: {netFlow: {collectors: ['192.0.2.10']}}", false, []string{"collectors", "192.0.2.10"}},
	}
}

// mistakesOfSDN are mistakes in the settings of OpenShift SDN, and in its objects.
func mistakesOfSDN() []mistake {
	sdn := func(config string) string { return "defaultNetwork: {openshiftSDNConfig: {" + config + "}}" }
	object := func(kind, name, fields string) string {
		return "apiVersion: network.openshift.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + fields
	}
	policy := func(rule string) string {
		return "apiVersion: network.openshift.io/v1\nkind: EgressNetworkPolicy\nmetadata: {name: default, namespace: default}\nspec: {egress: [" + rule + "]}"
	}
	return []mistake{
		{"an unknown mode", sdn("mode: Policies"), false, []string{"openshiftSDNConfig.mode", `"Policies"`, "Subnet", "Multitenant", "NetworkPolicy"}},
		{"another mode while the network is in use", sdn("mode: Multitenant"), false, []string{"mode", `"NetworkPolicy" -> "Multitenant"`, "nodes of different modes drop one another's packets; put the old value back"}},
		{"a VXLAN port out of range", sdn("vxlanPort: 99999"), false, []string{"vxlanPort", "99999 is out of range"}},
		{"another VXLAN port while the network is in use", sdn("vxlanPort: 4790"), false, []string{"vxlanPort", "nodes with different ports do not reach one another; put the old value back"}},
		{"an MTU of VXLAN out of range", sdn("mtu: 70000"), false, []string{"mtu", "70000 is out of range"}},
		{"another MTU of VXLAN while the network is in use", sdn("mtu: 1300"), false, []string{"mtu", `"1450" -> "1300"`, "cno plan prints the hash"}},
		{"an MTU of VXLAN that the nodes' links do not carry", sdn("mtu: 1500"), true, []string{"openshiftSDNConfig.mtu", "needs links of at least 1550", "use 1450 or less"}},
		{"another Open vSwitch while the network is in use", sdn("useExternalOpenvswitch: true"), false, []string{"useExternalOpenvswitch", "pods are without a network", "cno plan prints the hash"}},
		{"a second IP family", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: 'fd01::/48', hostPrefix: 64}]\nserviceNetwork: [172.30.0.0/16, 'fd02::/112']", true, []string{"spec.clusterNetwork", "network type OpenShiftSDN assigns pods IPv4 addresses only; remove the IPv6 networks here and in spec.serviceNetwork"}},
		{"a VNID that is reserved", object("NetNamespace", "shop", "netname: shop\nnetid: 5"), false, []string{"netid", "5 is not a VNID of a namespace; use 0, which reaches all others, or 10 to 16777215"}},
		{"an egress IP with a prefix", object("NetNamespace", "shop", "netname: shop\nnetid: 4711\negressIPs: [192.0.2.100/24]"), false, []string{"egressIPs[0]", "is not an IPv4 address; write one without a prefix, e.g. 192.0.2.100"}},
		{"an egress IP that is the address of the node", object("HostSubnet", "worker-0", "host: worker-0\nhostIP: 192.0.2.11\nsubnet: 10.128.2.0/23\negressIPs: [192.0.2.11]"), false, []string{"egressIPs", "is the address of the node itself, which cannot be an egress IP; choose one that no host has"}},
		{"a HostSubnet with the name of another host", object("HostSubnet", "worker-0", "host: worker-1\nhostIP: 192.0.2.11\nsubnet: 10.128.2.0/23"), false, []string{"host", `"worker-1" is not the name of the object; write worker-0, or create a HostSubnet of that other name`}},
		{"an egress rule with two destinations", policy("{type: Allow, to: {cidrSelector: 203.0.113.0/24, dnsName: www.example.com}}"), false, []string{"spec.egress[0].to", "has both cidrSelector 203.0.113.0/24 and dnsName www.example.com; write a rule for each of them"}},
		{"an egress rule with a wildcard", policy("{type: Allow, to: {dnsName: '*.example.com'}}"), false, []string{"dnsName", "wildcards are not supported, so write a rule for each name"}},
	}
}
