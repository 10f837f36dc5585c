package rules

import "fmt"

// overlapOfPools is the rule that no two pools of pods share addresses, for a kind and its list of pools.
func overlapOfPools(kind, pools string) Rule {
	const share = "i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr))"
	return Rule{
		Sentence: PoolOverlap, At: []string{kind + " spec"},
		Valid: fmt.Sprintf("!has(self.%[1]s) || !self.%[1]s.exists(i, a, self.%[1]s.exists(j, b, %[2]s))", pools, share),
		Message: fmt.Sprintf("self.%[1]s.transformList(i, a, self.%[1]s.exists(j, b, %[2]s), self.%[1]s.transformList(j, b, %[2]s, ", pools, share) +
			PoolOverlap.CEL("", fmt.Sprintf(`'spec.%[1]s[%%d] %%s %%s spec.%[1]s[%%d] %%s'.format([j, b.cidr,
			(a.cidr == b.cidr ? 'is the same as' : cidr(a.cidr).containsCIDR(b.cidr) ? 'lies inside' : 'contains'), i, a.cidr])`, pools)) + ")[0])[0]",
	}
}

// migratable are the types of network that may have the settings of OpenShift's own types beside theirs, as in a cluster that
// was migrated from one to the other: all but those that OpenShift never had.
const migratable = `!(self.type.lowerAscii() in ['flannel', 'nuage', 'contiv'])`

// foreignSettings is the rule that settings belong to a type. They may be set with the types for which an expression holds.
func foreignSettings(settings, types, of string) Rule {
	return Rule{
		Sentence: ForeignSettings, At: both("spec.defaultNetwork"), Field: "." + settings,
		Valid: fmt.Sprintf("!has(self.%s) || !has(self.type) || %s", settings, types),
		Args:  []string{"self.type", "'" + of + "'"},
	}
}

// mtuOfIPv6 is the rule that the MTU of a network's settings is large enough for IPv6 where a pool of a kind is IPv6.
func mtuOfIPv6(sentence Sentence, settings, kind, pools string) Rule {
	return Rule{
		Sentence: sentence, At: []string{kind + " spec"}, Field: ".defaultNetwork." + settings + ".mtu",
		Valid: fmt.Sprintf(`!has(self.%[1]s) || !has(self.defaultNetwork) || !has(self.defaultNetwork.%[2]s)
			|| !has(self.defaultNetwork.%[2]s.mtu) || self.defaultNetwork.%[2]s.mtu >= 1280 || self.defaultNetwork.%[2]s.mtu < 576
			|| !self.%[1]s.exists(c, isCIDR(c.cidr) && cidr(c.cidr).ip().family() == 6)`, pools, settings),
		Number: "self.defaultNetwork." + settings + ".mtu",
	}
}

// bindFamily is the rule that a pool of a kind has the IP family of the address that kube-proxy binds to: kube-proxy takes that family for
// the cluster's. The address of all is of either family.
func bindFamily(kind, pools string) Rule {
	const address = "self.kubeProxyConfig.bindAddress"
	const family = address + `.contains(':') ? 'IPv6' : 'IPv4'`
	return Rule{
		Sentence: KubeProxyBindFamily, At: []string{kind + " spec"}, Field: ".kubeProxyConfig.bindAddress",
		Valid: fmt.Sprintf(`!has(self.%[1]s) || self.%[1]s.size() == 0 || !has(self.kubeProxyConfig) || !has(%[2]s) || !isIP(%[2]s) || ip(%[2]s).isUnspecified()
			|| (%[2]s.contains(':') ? self.%[1]s.exists(c, !isCIDR(c.cidr) || c.cidr.contains(':')) : self.%[1]s.exists(c, !isCIDR(c.cidr) || !c.cidr.contains(':')))`, pools, address),
		Text: address, Args: []string{family, family},
	}
}
