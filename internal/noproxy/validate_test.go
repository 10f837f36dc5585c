package noproxy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
)

// secret is the password in these tests. It may not be in any message.
const secret = "hunter2"

func messages(spec configv1.ProxySpec) []string {
	var all []string
	for _, e := range Validate(&spec) {
		all = append(all, e.Error())
	}
	return all
}

func TestValidSettingsAreAccepted(t *testing.T) {
	for why, spec := range map[string]configv1.ProxySpec{
		"nothing":                         {},
		"nothing about proxies":           {ReadinessEndpoints: []string{"nonsense"}, TrustedCA: configv1.ConfigMapNameReference{Name: "user-ca-bundle"}},
		"one proxy for all":               {HTTPProxy: "http://proxy.example.com:3128", HTTPSProxy: "http://proxy.example.com:3128"},
		"a proxy over TLS":                {HTTPSProxy: "https://proxy.example.com", ReadinessEndpoints: []string{"https://www.example.com/x?y=z"}},
		"a name and a password":           {HTTPProxy: "http://user:p%40ss%2F@proxy:3128/"},
		"a name without a password":       {HTTPProxy: "http://token@proxy"},
		"addresses":                       {HTTPProxy: "http://10.0.0.1:3128", HTTPSProxy: "http://[fd00::1]:3128"},
		"capitals, and a name with _":     {HTTPProxy: "HTTP://Proxy_1.Example.com:1"},
		"hyphens at the ends of a host":   {HTTPProxy: "http://-8080:8080/", HTTPSProxy: "http://proxy-:8080"},
		"a host in another script":        {HTTPProxy: "http://прокси.example.com:3128", HTTPSProxy: "http://bücher.example:3128"},
		"everything directly":             {HTTPProxy: "http://proxy", NoProxy: "*"},
		"names in capital letters":        {HTTPProxy: "http://proxy", NoProxy: "Example.COM,.Svc"},
		"numbers before the last label":   {HTTPProxy: "http://proxy", NoProxy: "123.example,10.in-addr.arpa"},
		"dots, blanks, and a comma more":  {HTTPProxy: "http://proxy", NoProxy: ".a.b, c.d. ,10.0.0.1,fd00::/8,, 10.0.0.5/8,svc"},
		"the metadata name with dot":      {HTTPProxy: "http://proxy", NoProxy: "metadata.google.internal."},
		"an endpoint through the one set": {HTTPProxy: "http://proxy", ReadinessEndpoints: []string{"http://a", "https://b:8443/c"}},
	} {
		if got := messages(spec); len(got) > 0 {
			t.Errorf("%s: %q", why, got)
		}
	}
}

func TestAllErrorsAreReportedAtOnceWithAWayOut(t *testing.T) {
	for _, row := range []struct {
		why  string
		spec configv1.ProxySpec
		want []string
	}{
		{"scheme and port", configv1.ProxySpec{HTTPProxy: "htp://bad:99999"}, []string{
			`spec.httpProxy: Invalid value: "htp://bad:99999": scheme "htp" not allowed (http); did you mean http?`,
			`spec.httpProxy: Invalid value: "htp://bad:99999": invalid port number: "99999"; give one from 1 to 65535`}},
		{"everything is wrong", configv1.ProxySpec{HTTPProxy: "proxy:3128", HTTPSProxy: "ftp://", NoProxy: "a,b c", ReadinessEndpoints: []string{"x", "http://"}, TrustedCA: configv1.ConfigMapNameReference{Name: "A_b"}}, []string{
			`spec.trustedCA.name: Invalid value: "A_b": is not the name of a ConfigMap; give that of one in the namespace openshift-config`,
			`spec.httpProxy: Invalid value: "proxy:3128": has no scheme; write http://host:port`,
			`spec.httpsProxy: Invalid value: "ftp://": scheme "ftp" not allowed (http, https); did you mean http?`,
			`spec.httpsProxy: Invalid value: "ftp://": has no host; write http://host:port`,
			`spec.noProxy[1]: Invalid value: "b c": invalid noProxy: separate items with commas`,
			`spec.readinessEndpoints[0]: Invalid value: "x": has no scheme; write http:// or https://host:port`,
			`spec.readinessEndpoints[1]: Invalid value: "http://": has no host; write http://host:port`}},
		{"a list and no proxy", configv1.ProxySpec{NoProxy: ".a"}, []string{
			"spec: Required value: httpProxy or httpsProxy must be set when using proxy: noProxy alone has no effect"}},
		{"TLS to the proxy for http", configv1.ProxySpec{HTTPProxy: "https://p"}, []string{
			`spec.httpProxy: Invalid value: "https://p": scheme "https" not allowed (http); a proxy for http destinations that is itself reached over TLS is not supported, most proxies for https destinations are reached over http, too`}},
		{"an http endpoint, and a proxy for https only", configv1.ProxySpec{HTTPSProxy: "http://p", ReadinessEndpoints: []string{"http://a"}}, []string{
			`spec.readinessEndpoints[0]: Invalid value: "http://a": an http endpoint is reached through httpProxy, which is not set; set it, or use an https endpoint`}},
		{"items that are none", configv1.ProxySpec{HTTPProxy: "http://p", NoProxy: "*.example.com,10.0.0.0/33,*.Example.com,[::1],a:80,10.0.0.1:80,10.0.0.256,x/8,*,http://a,_"}, []string{
			`spec.noProxy[0]: Invalid value: "*.example.com": invalid noProxy: use ".example.com" for all subdomains`,
			`spec.noProxy[1]: Invalid value: "10.0.0.0/33": invalid noProxy: "33" is not the length of a prefix; it is from 0 to 32 for such an address`,
			`spec.noProxy[2]: Invalid value: "*.Example.com": invalid noProxy: use ".Example.com" for all subdomains`,
			`spec.noProxy[3]: Invalid value: "[::1]": invalid noProxy: write an address without brackets: "::1"`,
			`spec.noProxy[4]: Invalid value: "a:80": invalid noProxy: ports are ignored; did you mean "a"?`,
			`spec.noProxy[5]: Invalid value: "10.0.0.1:80": invalid noProxy: ports are ignored; did you mean "10.0.0.1"?`,
			`spec.noProxy[6]: Invalid value: "10.0.0.256": invalid noProxy: is not a valid address: each of the four numbers must be 0 to 255`,
			`spec.noProxy[7]: Invalid value: "x/8": invalid noProxy: "x" is not an address; write a CIDR as 10.0.0.0/16 or 2001:db8::/32`,
			`spec.noProxy[8]: Invalid value: "*": invalid noProxy: * means everything, and must then be the only item`,
			`spec.noProxy[9]: Invalid value: "http://a": invalid noProxy: is a URL; write the host only`,
			`spec.noProxy[10]: Invalid value: "_": invalid noProxy: is neither a domain nor an address nor a CIDR; write for example "example.com", ".example.com", "10.0.0.1" or "10.0.0.0/16"`}},
		{"everything but by its addresses, and parts of addresses", configv1.ProxySpec{HTTPProxy: "http://p", NoProxy: "0.0.0.0/0,::/0,123.10,10."}, []string{
			`spec.noProxy[0]: Invalid value: "0.0.0.0/0": invalid noProxy: contains every address, so no connection to an address would use the proxy; list the networks to reach without it, or only * to bypass it for everything`,
			`spec.noProxy[1]: Invalid value: "::/0": invalid noProxy: contains every address, so no connection to an address would use the proxy; list the networks to reach without it, or only * to bypass it for everything`,
			`spec.noProxy[2]: Invalid value: "123.10": invalid noProxy: is not a complete address: an address has four numbers; write a network as a CIDR, for example 10.0.0.0/8`,
			`spec.noProxy[3]: Invalid value: "10.": invalid noProxy: is not a complete address: an address has four numbers; write a network as a CIDR, for example 10.0.0.0/8`}},
		{"addresses and ports", configv1.ProxySpec{HTTPProxy: "http://fd00::1:3128", HTTPSProxy: "http://[10.0.0.1]:0"}, []string{
			`spec.httpProxy: Invalid value: "http://fd00:xxxxx": has more than one colon after the scheme; write an IPv6 address in brackets, http://[2001:db8::1]:3128`,
			`spec.httpsProxy: Invalid value: "http://[10.0.0.1]:0": has brackets around what is not an IPv6 address`,
			`spec.httpsProxy: Invalid value: "http://[10.0.0.1]:0": invalid port number: "0"; give one from 1 to 65535`}},
		{"an open bracket and a host that is none", configv1.ProxySpec{HTTPProxy: "http://[::1", HTTPSProxy: "http://x..y"}, []string{
			`spec.httpProxy: Invalid value: "http://[:xxxxx": has a "[" without "]"; write an IPv6 address as http://[2001:db8::1]:3128`,
			`spec.httpsProxy: Invalid value: "http://x..y": its host is neither a name nor an address`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			if diff := cmp.Diff(row.want, messages(row.spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPasswordsAreNeverEchoed(t *testing.T) {
	for raw, want := range map[string]string{
		"http://user:hunter2@proxy:3128":     "",
		"http://us@er:hunter2@proxy":         `userinfo contains "@": percent-encode as %40`,
		"http://user:hunt@hunter2@proxy":     `userinfo contains "@": percent-encode as %40`,
		"http://user:hunter2/x@proxy":        `userinfo contains "/": percent-encode as %2F`,
		"http://user:a:hunter2@proxy":        `percent-encode as %3A`,
		"http://user:hunter2%zz@proxy":       `percent-encode as %25`,
		"http://user:hunter2#@proxy":         `percent-encode as %23`,
		"http://user:hunter2":                `invalid port number: "xxxxx"`,
		"http://user:x y:hunter2@proxy":      `has a blank in it`,
		"user:hunter2@proxy:3128":            `has no scheme`,
		"user:hunter2://@proxy":              `has no scheme`,
		"http://hunter2@:1":                  `has no host`,
		"http://proxy:3128x/?token=hunter2":  `invalid port number: "xxxxx"`,
		"http://user:hunter2@proxy:\x7f":     `invalid port number`,
		"http://user:hunter2\x01@proxy:3128": "is not a URL",
	} {
		spec := configv1.ProxySpec{HTTPProxy: raw, HTTPSProxy: raw, ReadinessEndpoints: []string{raw}}
		if want != "" {
			spec.NoProxy = raw
		}
		all := strings.Join(messages(spec), "\n")
		if strings.Contains(all, secret) || !strings.Contains(all, want) {
			t.Errorf("%q: want %q, got\n%s", raw, want, all)
		}
	}
}

func TestScrubHidesPasswordsInForeignTexts(t *testing.T) {
	proxy := "http://user:p%40ss%2Fword@proxy:3128"
	got := Scrub(`proxyconnect "http://user:p%40ss%2Fword@proxy:3128": p@ss/word is wrong`, proxy, "http://plain")
	if want := `proxyconnect "http://user:xxxxx@proxy:3128": xxxxx is wrong`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRedactKeepsNonSecrets(t *testing.T) {
	for raw, want := range map[string]string{
		"":                              "",
		"http://proxy:3128/x":           "http://proxy:3128/x",
		"http://[fd00::1]:3128":         "http://[fd00::1]:3128",
		"http://user:p@proxy":           "http://user:xxxxx@proxy",
		"http://token@proxy":            "http://xxxxx@proxy",
		"https://host/path?a=b#c":       "https://host/path?xxxxx",
		"not a URL":                     "not a URL",
		"http://user:p@[fd00::1]:1/a?b": "http://user:xxxxx@[fd00::1]:1/a?xxxxx",
	} {
		if got := Redact(raw); got != want {
			t.Errorf("Redact(%q) = %q, want %q", raw, got, want)
		}
	}
}
