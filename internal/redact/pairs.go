package redact

import (
	"regexp"
	"slices"
	"strings"
)

// words are the parts of names of secret values, in lower case and without dashes.
var words = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "apikey", "accesskey", "privatekey", "sharedkey", "signingkey", "encryptionkey", "accountkey",
	"credential", "clientkeydata", "clientcertificatedata", "keydata", "authkey", "presharedkey", "psk", "connectionstring", "signature", "dockerconfig", "dockercfg", "authorization", "cookie",
	"session", "bindpw", "rootpw", "userpass", "htpasswd", "kubeconfig", "webhookurl", "sastoken", "accesscode", "otp", "pincode", "communitystring", "bindkey", "masterkey", "sshkey", "hostkey",
}

// hints are parts of which every name of a secret option contains one.
var hints = []string{"pass", "pwd", "secret", "token", "key", "cred", "auth", "psk", "signature", "cookie", "session", "pw", "otp", "sid", "sas", "jwt", "pin", "string", "webhook", "kubeconfig", "docker", "code"}

// pointers are suffixes of names whose values are not secret, but refer to a location.
var pointers = []string{"name", "names", "file", "path", "dir", "namespace", "ref", "reference", "type", "expiration", "expirationseconds", "ttl", "mount", "mounted", "audience", "issuer", "hash", "version", "affinity", "count", "id", "ids", "url", "uri", "endpoint"}

// whole are complete names of secret values that are too short to be searched for inside other names.
var whole = map[string]bool{"auth": true, "pass": true, "pw": true, "key": true, "sig": true, "jwt": true, "sas": true, "pat": true, "pin": true, "sid": true, "apitoken": true, "userpassword": true, "tlskey": true, "cakey": true, "passwords": true}

// secretName reports whether a name is that of a secret value.
func secretName(name string) bool {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, name)
	if whole[plain] {
		return true
	}
	for _, p := range pointers {
		if strings.HasSuffix(plain, p) && plain != "webhookurl" && plain != "sessionid" {
			return false
		}
	}
	for _, w := range words {
		if strings.Contains(plain, w) {
			return true
		}
	}
	return false
}

// harmless reports whether a value is only a boolean or a location.
func harmless(value string) bool {
	switch strings.ToLower(strings.Trim(value, `"'`)) {
	case "", "true", "false", "null", "none", "nil", "yes", "no", "{}", "[]", "{", "[", "<nil>", "|", ">", "->", "|-", strings.ToLower(Hidden):
		return true
	}
	return false
}

// value matches the value after a name: in quotes, as a YAML block, or a word.
var value = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"?|\\+"(?:[^"\\]|\\[^"])*(?:\\+")?|'[^'\n]*'?|[|>][+-]?[ \t]*\r?\n(?:[ \t]+[^\n]*(?:\n|$))+|[^\s"',;&}\])]+)`)

// option matches a flag with its value in the next word.
var option = regexp.MustCompile(`(--?[A-Za-z][\w-]{2,60})((?:\s+|",\s*"|'\s+'))([^\s"'-][^\s"',\]]*)`)

// prose matches a name and a value in a sentence.
var prose = regexp.MustCompile(`(?i)\b(password|passphrase|token|secret)\s+(?:(?:is|was)\s+)?("[^"\n]+"|'[^'\n]+'|[^\s"',;]*\d[^\s"',;]*)`)

// pairs redacts the values of secret names.
func pairs(text string) string {
	text = assignments(text)
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(hints, func(w string) bool { return strings.Contains(lower, w) }) {
		return text
	}
	if strings.Contains(text, "-") {
		text = replaceGroups(option, text, func(g []string) string {
			if !secretName(g[1]) || harmless(g[3]) || pathLike(g[3]) {
				return g[0]
			}
			return g[1] + g[2] + Hidden
		})
	}
	return replaceGroups(prose, text, func(g []string) string { return g[1] + " " + Hidden })
}

// assignments redacts values that are assigned to secret names: password=x, "token": "x", --api-key=x, apiKey := x. The
// value of another name may contain such an assignment.
func assignments(text string) string {
	var out strings.Builder
	kept := 0
	for i := 0; i < len(text); i++ {
		if text[i] != ':' && text[i] != '=' {
			continue
		}
		if key := nameBefore(text[kept:i]); key == "" || !secretName(key) {
			continue
		}
		from := i + 1
		for from < len(text) && (text[from] == ' ' || text[from] == '\t' || text[from] == '=' || text[from] == '>' && text[from-1] == '=') {
			from++
		}
		v := value.FindString(text[from:])
		if v == "" || harmless(v) || pathLike(v) {
			continue
		}
		out.WriteString(text[kept:from])
		out.WriteString(quoted(v))
		kept = from + len(v)
		i = kept - 1
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// longestName is the maximum length of a name.
const longestName = 60

// nameBefore returns the name that a text ends with, before blanks, a quote and the backslashes of JSON in JSON.
func nameBefore(text string) string {
	text = text[max(0, len(text)-longestName-8):]
	text = strings.TrimRight(text, " \t")
	text = strings.TrimRight(strings.TrimRight(text, `"'`), `\`)
	from := len(text)
	for from > 0 && (base64Letter(text[from-1]) && text[from-1] != '+' && text[from-1] != '/' || text[from-1] == '.') {
		from--
	}
	return text[from:]
}

// quoted redacts a value inside its quotes, so that JSON stays valid.
func quoted(value string) string {
	if strings.Contains(value, "\n") && strings.HasSuffix(value, "\n") {
		return Hidden + "\n"
	}
	for i := range len(value) {
		if value[i] == '"' || value[i] == '\'' {
			open := value[:i+1]
			if len(value) > len(open) && strings.HasSuffix(value, open) {
				return open + Hidden + open
			}
			return open + Hidden
		}
		if value[i] != '\\' {
			break
		}
	}
	return Hidden
}

// pathLike reports whether a value is an absolute path of words, such as that of a token file.
func pathLike(value string) bool {
	value = strings.Trim(value, `"'\`)
	return strings.HasPrefix(value, "/") && strings.Count(value, "/") > 1 && !random(value) && !strings.ContainsAny(value, "+=")
}

// replaceGroups is ReplaceAllStringFunc with the groups of each match.
func replaceGroups(re *regexp.Regexp, text string, with func([]string) string) string {
	var out strings.Builder
	last := 0
	for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = text[at[2*i]:at[2*i+1]]
			}
		}
		out.WriteString(text[last:at[0]])
		out.WriteString(with(groups))
		last = at[1]
	}
	if last == 0 {
		return text
	}
	out.WriteString(text[last:])
	return out.String()
}
