package rules

// operatorpki are the rules of an OperatorPKI.
var operatorpki = []Rule{
	{
		Sentence: New("operatorpki-name", "metadata.name: has more than 248 characters, which leaves no room for -cert in the names of Secrets; choose a shorter one"),
		At:       []string{"OperatorPKI"},
		Valid:    `self.metadata.name.size() <= 248`,
	},
	{
		Sentence: New("operatorpki-authority-validity", "authorityValidity %s is too short: a CA is replaced after %s, signs for another %s, and outlives what it signs by then (%s). Lengthen it, or shorten the others"),
		At:       []string{"OperatorPKI spec.rotation"},
		Valid: `![self.authorityRefresh, self.overlap, self.certificateValidity, self.authorityValidity].all(d,
			d.matches('^([0-9]{1,7}(h|m|s))+$'))
			|| duration(self.authorityRefresh) + duration(self.overlap) + duration(self.certificateValidity) <= duration(self.authorityValidity)`,
		Args: []string{"self.authorityValidity", "self.authorityRefresh", "self.overlap", "self.certificateValidity"},
	},
	{
		Sentence: New("operatorpki-duration", "is not a duration; write a number of at most seven digits and h, m or s, for example 24h"),
		At:       []string{"OperatorPKI spec.rotation.authorityRefresh", "OperatorPKI spec.rotation.authorityValidity", "OperatorPKI spec.rotation.certificateValidity", "OperatorPKI spec.rotation.overlap"},
		Valid:    `self.matches('^([0-9]{1,7}(h|m|s))+$')`,
		Text:     "self",
	},
	{
		Sentence: New("operatorpki-duration-range", "%s is out of range; use 10s to 262800h, which is thirty years"),
		At:       []string{"OperatorPKI spec.rotation.authorityRefresh", "OperatorPKI spec.rotation.authorityValidity", "OperatorPKI spec.rotation.certificateValidity", "OperatorPKI spec.rotation.overlap"},
		Valid:    `!self.matches('^([0-9]{1,7}(h|m|s))+$') || duration(self) >= duration('10s') && duration(self) <= duration('262800h')`,
		Args:     []string{"self"},
	},
	{
		Sentence: New("operatorpki-common-name", "is neither a DNS name nor an IP address; write for example ovn or 127.0.0.1"),
		At:       []string{"OperatorPKI spec.targetCert.commonName"},
		Valid: `isIP(self)
			|| self.matches('^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*$')`,
		Text: "self",
	},
}
