// Package redact removes possible secrets from texts and objects, so that they can be shared: passwords, tokens, private
// keys, the user part of URLs, and any of these in base64.
//
// It prefers false positives: text that looks like a secret is redacted. It cannot detect a secret that looks like an
// ordinary word; callers must never pass Secrets, and Object drops their content. Digests, names, addresses and
// certificates stay.
package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// Hidden replaces redacted text.
const Hidden = "REDACTED"

// deepest is the maximum depth of nested base64 that is checked.
const deepest = 3

// Text returns a text without possible secrets. The text may be a line or a whole log; a private key that begins or ends
// outside of it is redacted as well.
func Text(text string) string { return redact(text, deepest) }

// Value is like Text for a named value, which is redacted completely if the name is that of a secret.
func Value(name, value string) string {
	if value != "" && secretName(name) && !harmless(value) {
		return Hidden
	}
	return Text(value)
}

func redact(text string, depth int) string {
	if len(text) < shortest {
		return text
	}
	text = keys(text)
	lower := strings.ToLower(text)
	for _, r := range rules {
		if slices.ContainsFunc(r.words, func(w string) bool { return strings.Contains(lower, w) }) {
			text = r.pattern.ReplaceAllString(text, r.with)
		}
	}
	text = pairs(joinTokens(text))
	if depth > 0 {
		text = runs(text, depth)
	}
	return text
}

// shortest is the length of the shortest text that can contain a secret: a name, a separator and a value.
const shortest = 5

// rule replaces a pattern. It is only applied to texts that contain one of its words in lower case, since most lines have
// none.
type rule struct {
	words   []string
	pattern *regexp.Regexp
	with    string
}

// rules match secrets by their form or by the preceding text.
var rules = []rule{
	{[]string{"://"}, regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)(?:[^\s"'<>@/]*|[^\s"'<>@/:]*:[^\s"'<>@]*)@`), "${1}" + Hidden + "@"},
	{[]string{"authorization"}, regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*\[?["']?)(?:[a-z]+\s+)?[^\s"',\]]+`), "${1}" + Hidden},
	{[]string{"bearer", "basic", "negotiate", "digest", "apikey"}, regexp.MustCompile(`(?i)\b(bearer|basic|negotiate|apikey|digest)(\s+|%20)[a-z0-9._~+/=-]{8,}`), "${1} " + Hidden},
	{[]string{"cookie"}, regexp.MustCompile(`(?i)((?:set-)?cookie["']?\s*[:=]\s*["'\[]*)[^\r\n"'\]]+`), "${1}" + Hidden},
	{[]string{"akia", "asia", "aroa", "agpa"}, regexp.MustCompile(`\b(?:AKIA|ASIA|AROA|AGPA)[A-Z0-9]{12,}\b`), Hidden},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]|github_pat)_\w{16,}`), Hidden},
	{[]string{"glpat-", "gldt-", "glrt-", "glcbt-"}, regexp.MustCompile(`\bgl(?:pat|dt|rt|cbt)-[\w-]{16,}`), Hidden},
	{[]string{"xox"}, regexp.MustCompile(`\bxox[a-z]-[\w-]{8,}`), Hidden},
	{[]string{"hooks.slack"}, regexp.MustCompile(`hooks\.slack\.com/services/[\w/]+`), "hooks.slack.com/services/" + Hidden},
	{[]string{"sk_", "rk_", "pk_", "whsec_", "sk-"}, regexp.MustCompile(`\b(?:(?:sk|rk|pk)_(?:live|test)_|whsec_|sk-)[\w-]{12,}`), Hidden},
	{[]string{"aiza", "ya29."}, regexp.MustCompile(`\b(?:AIza[\w-]{20,}|ya29\.[\w.-]{10,})`), Hidden},
	{[]string{"npm_", "pypi-", "dop_v1_", "doo_v1_", "dckr_pat_", "hf_"}, regexp.MustCompile(`\b(?:npm_|pypi-|do[op]_v1_|dckr_pat_|hf_)[\w-]{16,}`), Hidden},
	{[]string{"hvs.", "hvb."}, regexp.MustCompile(`\bhv[sb]\.[\w-]{12,}`), Hidden},
	{[]string{"sg."}, regexp.MustCompile(`\bSG\.[\w-]{10,}\.[\w-]{10,}`), Hidden},
	{[]string{"sha256~"}, regexp.MustCompile(`\bsha256~[\w-]{16,}`), Hidden},
	{[]string{"age-secret-key-"}, regexp.MustCompile(`(?i)\bAGE-SECRET-KEY-1[A-Z0-9]{16,}`), Hidden},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[\w-]{6,}(?:\.[\w-]+){1,4}|\beyJ[A-Za-z0-9+/_-]{16,}={0,2}`), Hidden},
	// Hashes of passwords, as in /etc/shadow and htpasswd files.
	{[]string{"$"}, regexp.MustCompile(`\$(?:[156y]|2[abxy]|apr1|argon2id?|pbkdf2[\w-]*)\$[\w./$=,+-]{8,}`), Hidden},
}

var (
	private = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`)
	// headless matches the end of a key whose beginning is missing.
	headless = regexp.MustCompile(`(?:^|\n)(?:[A-Za-z0-9+/=\\nr: -]+\r?\n)*[A-Za-z0-9+/=]*(?:\\n)*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
)

// keys redacts private keys, complete or truncated.
func keys(text string) string {
	if !strings.Contains(text, "PRIVATE KEY") {
		return text
	}
	return headless.ReplaceAllString(private.ReplaceAllString(text, Hidden), "\n"+Hidden)
}

// certificate is the prefix of a certificate in base64, which is public.
const certificate = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0"

// runs redacts long runs of letters and digits that decode to a secret, or that look random.
func runs(text string, depth int) string {
	if !strings.Contains(text, "CERTIFICATE-----") {
		return hideRuns(text, depth)
	}
	// The lines of a certificate look random, but are public.
	var out strings.Builder
	for text != "" {
		begin := strings.Index(text, "-----BEGIN CERTIFICATE-----")
		if begin < 0 {
			break
		}
		end := strings.Index(text[begin:], "-----END CERTIFICATE-----")
		if end < 0 {
			break
		}
		out.WriteString(hideRuns(text[:begin], depth))
		out.WriteString(text[begin : begin+end])
		text = text[begin+end:]
	}
	out.WriteString(hideRuns(text, depth))
	return out.String()
}

// shortestRun is the minimum length of a run that is checked.
const shortestRun = 24

// hideRuns redacts runs of a text that may be base64, complete or truncated.
func hideRuns(text string, depth int) string {
	var out strings.Builder
	kept := 0
	for i := 0; i < len(text); {
		if !base64Letter(text[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && base64Letter(text[end]) {
			end++
		}
		for padding := 0; padding < 2 && end < len(text) && text[end] == '='; padding++ {
			end++
		}
		if run := text[i:end]; len(run) >= shortestRun && !strings.HasPrefix(run, certificate) && (random(run) || secretInside(run, depth)) {
			out.WriteString(text[kept:i])
			out.WriteString(Hidden)
			kept = end
		}
		i = end
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

func base64Letter(c byte) bool {
	return alphanumeric(c) || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '-' || c == '_'
}

// alphanumeric reports whether a byte is a digit or a lower-case letter.
func alphanumeric(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// The lengths of the two parts of a kubeadm join token.
const tokenID, tokenSecret = 6, 16

// joinTokens redacts such tokens.
func joinTokens(text string) string {
	var out strings.Builder
	kept := 0
	for i := tokenID; i+tokenSecret < len(text); i++ {
		if text[i] != '.' || !joins(text, i) {
			continue
		}
		out.WriteString(text[kept : i-tokenID])
		out.WriteString(Hidden)
		kept = i + 1 + tokenSecret
		i = kept
	}
	if kept == 0 {
		return text
	}
	out.WriteString(text[kept:])
	return out.String()
}

// joins reports whether the dot at i is inside such a token. One without digits is a name.
func joins(text string, i int) bool {
	from, to := i-tokenID, i+1+tokenSecret
	if to > len(text) || from > 0 && word(text[from-1]) || to < len(text) && word(text[to]) {
		return false
	}
	digits := 0
	for j := from; j < to; j++ {
		if j != i && !alphanumeric(text[j]) {
			return false
		}
		if text[j] >= '0' && text[j] <= '9' {
			digits++
		}
	}
	return digits > 0
}

func word(c byte) bool { return base64Letter(c) || c == '.' }

// secretInside reports whether a run is base64 of a text that contains a secret.
func secretInside(run string, depth int) bool {
	plain := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(run), "=")
	// Of a truncated run, the complete part is decoded.
	raw, err := base64.RawStdEncoding.DecodeString(plain[:len(plain)/4*4])
	if err != nil || !printable(raw) {
		return false
	}
	text := string(raw)
	return redact(text, depth-1) != text
}

func printable(raw []byte) bool {
	for _, b := range raw {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// randomLength is the minimum length at which mixed case and digits are a key; names of that length have dashes or one
// case, and paths have words.
const randomLength = 40

func random(run string) bool {
	if len(run) < randomLength {
		return false
	}
	var lower, upper, digit, between, longest, since int
	for _, c := range run {
		since++
		switch {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= '0' && c <= '9':
			digit++
		case c == '/' || c == '-' || c == '_':
			between++
			longest, since = max(longest, since-1), 0
		}
	}
	longest = max(longest, since)
	return lower > 2 && upper > 2 && digit > 1 && (between <= len(run)/12 || longest >= 24)
}
