package noproxy

import (
	"net/url"
	"strings"
)

// hidden replaces secrets, as in package net/url.
const hidden = "xxxxx"

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// Redact returns a URL without possible secrets: the password, the query and the fragment, and, if the position of the
// password is ambiguous, everything that may contain it. The text need not be a valid URL.
func Redact(raw string) string {
	scheme, rest := split(raw)
	user, host, found := cutLast(rest, "@")
	if !found {
		return scheme + redactHost(rest)
	}
	name, _, password := strings.Cut(user, ":")
	if !password || strings.Trim(name, letters+digits+"-._~") != "" {
		// A name without a password may itself be a token.
		return scheme + hidden + "@" + redactHost(host)
	}
	return scheme + name + ":" + hidden + "@" + redactHost(host)
}

// split splits a URL after its scheme, if it has one.
func split(raw string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found || strings.Trim(scheme, letters+digits+"+-.") != "" {
		return "", raw
	}
	return scheme + "://", rest
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(separator):], true
}

// redactHost hides the query, the fragment, and an invalid port, which may be a password in a URL without host.
func redactHost(host string) string {
	end := ""
	if i := strings.IndexAny(host, "?#"); i >= 0 {
		host, end = host[:i], host[i:i+1]+hidden
	}
	authority, path, slash := strings.Cut(host, "/")
	if slash {
		path = "/" + path
	}
	from := 0
	if strings.HasPrefix(authority, "[") {
		from = strings.Index(authority, "]") + 1
	}
	if i := strings.Index(authority[from:], ":"); i >= 0 && strings.Trim(authority[from+i+1:], digits) != "" {
		authority, path = authority[:from+i+1]+hidden, ""
	}
	return authority + path + end
}

// Scrub hides the passwords of URLs in a text of another origin, for example an error.
func Scrub(text string, urls ...string) string {
	for _, raw := range urls {
		text = strings.ReplaceAll(text, raw, Redact(raw))
		u, err := url.Parse(raw)
		if err != nil || u.User == nil {
			continue
		}
		password, _ := u.User.Password()
		_, encoded, _ := strings.Cut(u.User.String(), ":")
		for _, secret := range []string{encoded, password} {
			if secret != "" {
				text = strings.ReplaceAll(text, secret, hidden)
			}
		}
	}
	return text
}
