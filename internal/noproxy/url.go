package noproxy

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// validateURL returns all errors in a URL. It does not return the errors of package net/url, which may quote parts of a
// password.
func validateURL(at *field.Path, raw string, schemes ...string) field.ErrorList {
	var errs field.ErrorList
	bad := func(format string, args ...any) {
		errs = append(errs, field.Invalid(at, Redact(raw), fmt.Sprintf(format, args...)))
	}
	if raw != strings.TrimSpace(raw) || strings.ContainsAny(raw, " \t\r\n") {
		bad("has a blank in it; take it out, or write %%20 if it is part of a password")
		return errs
	}
	scheme, rest := split(raw)
	if scheme == "" {
		bad("has no scheme; write %s://host:port", strings.Join(schemes, ":// or "))
		return errs
	}
	if problem := checkScheme(strings.ToLower(strings.TrimSuffix(scheme, "://")), schemes); problem != "" {
		bad("%s", problem)
	}
	user, host, hasUser := cutLast(rest, "@")
	if hasUser {
		if problem := checkUser(user); problem != "" {
			bad("%s", problem)
			return errs
		}
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	for _, problem := range checkHost(host) {
		bad("%s", problem)
	}
	if _, err := url.ParseRequestURI(raw); err != nil && len(errs) == 0 {
		bad("is not a URL; write %s://host:port", schemes[len(schemes)-1])
	}
	return errs
}

func checkScheme(scheme string, allowed []string) string {
	if slices.Contains(allowed, scheme) {
		return ""
	}
	hint := ""
	if near, ok := suggest.Closest(scheme, allowed, 2); ok {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	if scheme == "https" {
		hint = "; a proxy for http destinations that is itself reached over TLS is not supported, most proxies for https destinations are reached over http, too"
	}
	return fmt.Sprintf("scheme %q not allowed (%s)%s", scheme, strings.Join(allowed, ", "), hint)
}

// checkUser returns errors in a user name and a password that clients would interpret differently.
func checkUser(user string) string {
	for _, c := range []struct{ character, encoded string }{{"@", "%40"}, {"/", "%2F"}, {"?", "%3F"}, {"#", "%23"}, {"[", "%5B"}, {"]", "%5D"}} {
		if strings.Contains(user, c.character) {
			return fmt.Sprintf("userinfo contains %q: percent-encode as %s", c.character, c.encoded)
		}
	}
	if strings.Count(user, ":") > 1 {
		return `userinfo contains ":" in the password: percent-encode as %3A`
	}
	if _, err := url.PathUnescape(user); err != nil {
		return `userinfo contains a "%" that is not followed by two hexadecimal digits: percent-encode as %25`
	}
	return ""
}

// checkHost returns the errors in a host and its port.
func checkHost(host string) (problems []string) {
	var name, port string
	var hasPort bool
	if strings.HasPrefix(host, "[") {
		end := strings.Index(host, "]")
		if end < 0 {
			return []string{`has a "[" without "]"; write an IPv6 address as http://[2001:db8::1]:3128`}
		}
		if a, err := netip.ParseAddr(host[1:end]); err != nil || !a.Is6() {
			problems = append(problems, "has brackets around what is not an IPv6 address")
		}
		name, port = "ipv6", strings.TrimPrefix(host[end+1:], ":")
		hasPort = host[end+1:] != ""
	} else if strings.Count(host, ":") > 1 {
		return []string{"has more than one colon after the scheme; write an IPv6 address in brackets, http://[2001:db8::1]:3128"}
	} else {
		name, port, hasPort = strings.Cut(host, ":")
	}
	if name == "" {
		problems = append(problems, "has no host; write http://host:port")
	} else if !isHost(name) {
		problems = append(problems, "its host is neither a name nor an address")
	}
	if n, err := strconv.ParseUint(port, 10, 64); hasPort && (err != nil || n < 1 || n > 65535) {
		shown := hidden
		if port == "" || strings.Trim(port, digits) == "" {
			shown = port
		}
		problems = append(problems, fmt.Sprintf("invalid port number: %q; give one from 1 to 65535", shown))
	}
	return problems
}

// isHost reports whether a text can be a host name, or is an IPv4 address. Clients and resolvers accept more than DNS
// does: underscores, capital letters, leading and trailing hyphens, and letters of all scripts.
func isHost(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if len(name) > validation.DNS1123SubdomainMaxLength || brokenAddress(name) {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.ContainsFunc(label, notInHost) {
			return false
		}
	}
	return true
}

func notInHost(r rune) bool {
	return r != '-' && r != '_' && !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark)
}

// brokenAddress reports whether a text looks like an IPv4 address but is invalid.
func brokenAddress(s string) bool {
	if strings.Count(s, ".") != 3 || strings.Trim(s, digits+".") != "" {
		return false
	}
	_, err := netip.ParseAddr(s)
	return err != nil
}
