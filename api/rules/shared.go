package rules

import "fmt"

// overlapOfPools is the rule that no two pools of pods share addresses, for a kind and its list of pools.
func overlapOfPools(kind, pools string) Rule {
	const share = "i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr))"
	return Rule{
		ID: "pool-overlap", At: []string{kind + " spec"},
		Valid: fmt.Sprintf("!has(self.%[1]s) || !self.%[1]s.exists(i, a, self.%[1]s.exists(j, b, %[2]s))", pools, share),
		Message: fmt.Sprintf(`self.%[1]s.transformList(i, a, self.%[1]s.exists(j, b, %[2]s), self.%[1]s.transformList(j, b, %[2]s,
			'spec.%[1]s[%%d] %%s %%s spec.%[1]s[%%d] %%s; choose non-overlapping ranges'.format([j, b.cidr,
			(a.cidr == b.cidr ? 'is the same as' : cidr(a.cidr).containsCIDR(b.cidr) ? 'lies inside' : 'contains'), i, a.cidr]))[0])[0]`, pools, share),
	}
}

// migratable are the types of network that may have the settings of OpenShift's own types beside theirs, as in a cluster that
// was migrated from one to the other: all but those that OpenShift never had.
const migratable = `!(self.type.lowerAscii() in ['flannel', 'nuage', 'contiv'])`

// foreignSettings is the rule that settings belong to the type, for which an expression holds.
func foreignSettings(name, types string) Rule {
	return Rule{
		ID: "foreign-settings", At: both("spec.defaultNetwork"),
		Valid:    fmt.Sprintf("!has(self.%s) || !has(self.type) || %s", name, types),
		Sentence: "spec.defaultNetwork." + name + " is set but type is %s; remove one", Args: []string{"self.type"},
	}
}

// mtuOfIPv6 is the rule that the MTU of a network's settings is long enough for IPv6 where a pool of a kind is IPv6.
func mtuOfIPv6(id, settings, kind, pools string) Rule {
	return Rule{
		ID: id, At: []string{kind + " spec"},
		Valid: fmt.Sprintf(`!has(self.%[1]s) || !has(self.defaultNetwork) || !has(self.defaultNetwork.%[2]s)
			|| !has(self.defaultNetwork.%[2]s.mtu) || self.defaultNetwork.%[2]s.mtu >= 1280 || self.defaultNetwork.%[2]s.mtu < 576
			|| !self.%[1]s.exists(c, isCIDR(c.cidr) && cidr(c.cidr).ip().family() == 6)`, pools, settings),
		Sentence: "spec.defaultNetwork." + settings + ".mtu: %d is too small for IPv6; it must be at least 1280, since spec." + pools + " has an IPv6 range",
		Args:     []string{"self.defaultNetwork." + settings + ".mtu"},
	}
}
