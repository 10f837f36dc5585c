package redact

import (
	"regexp"
	"slices"
	"strings"
)

// words are those by which a name says that its value is secret, in lower case and without dashes.
var words = []string{
	"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "apikey", "accesskey", "privatekey", "sharedkey", "signingkey", "encryptionkey", "accountkey",
	"credential", "clientkeydata", "clientcertificatedata", "keydata", "authkey", "presharedkey", "psk", "connectionstring", "signature", "dockerconfig", "dockercfg", "authorization", "cookie",
	"session", "bindpw", "rootpw", "userpass", "htpasswd", "kubeconfig", "webhookurl", "sastoken", "accesscode", "otp", "pincode", "communitystring", "bindkey", "masterkey", "sshkey", "hostkey",
}

// telling are parts of which every name of an option that is looked for has one.
var telling = []string{"pass", "pwd", "secret", "token", "key", "cred", "auth", "psk", "signature", "cookie", "session", "pw", "otp", "sid", "sas", "jwt", "pin", "string", "webhook", "kubeconfig", "docker", "code"}

// pointers end names whose values are not secret: they say where something is.
var pointers = []string{"name", "names", "file", "path", "dir", "namespace", "ref", "reference", "type", "expiration", "expirationseconds", "ttl", "mount", "mounted", "audience", "issuer", "hash", "version", "affinity", "count", "id", "ids", "url", "uri", "endpoint"}

// whole are names that are secret as a whole, and too short to be looked for inside of others.
var whole = map[string]bool{"auth": true, "pass": true, "pw": true, "key": true, "sig": true, "jwt": true, "sas": true, "pat": true, "pin": true, "sid": true, "apitoken": true, "userpassword": true, "tlskey": true, "cakey": true, "passwords": true}

// secretName reports whether a name says that its value is secret.
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

// harmless reports whether a value says no more than whether there is something, or where.
func harmless(value string) bool {
	switch strings.ToLower(strings.Trim(value, `"'`)) {
	case "", "true", "false", "null", "none", "nil", "yes", "no", "{}", "[]", "{", "[", "<nil>", "|", ">", "->", "|-", strings.ToLower(Hidden):
		return true
	}
	return false
}

// value is what comes after it: in quotes, as a block of YAML, or a word.
var value = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"?|\\+"(?:[^"\\]|\\[^"])*(?:\\+")?|'[^'\n]*'?|[|>][+-]?[ \t]*\r?\n(?:[ \t]+[^\n]*(?:\n|$))+|[^\s"',;&}\])]+)`)

// option is a flag with its value in the next word.
var option = regexp.MustCompile(`(--?[A-Za-z][\w-]{2,60})((?:\s+|",\s*"|'\s+'))([^\s"'-][^\s"',\]]*)`)

// said is a name and a value in a sentence.
var said = regexp.MustCompile(`(?i)\b(password|passphrase|token|secret)\s+(?:(?:is|was)\s+)?("[^"\n]+"|'[^'\n]+'|[^\s"',;]*\d[^\s"',;]*)`)

// pairs takes out the values of secret names.
func pairs(text string) string {
	text = assignments(text)
	lower := strings.ToLower(text)
	if !slices.ContainsFunc(telling, func(w string) bool { return strings.Contains(lower, w) }) {
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
	return replaceGroups(said, text, func(g []string) string { return g[1] + " " + Hidden })
}

// assignments takes out what is assigned to secret names: password=x, "token": "x", --api-key=x, apiKey := x. What is
// assigned to others may be such an assignment itself.
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

// longestName is how long a name may be.
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

// quoted hides a value inside of its quotes, so that JSON stays JSON.
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

// pathLike reports whether a value is an absolute path of words, as files of tokens are given.
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
