package placement

import (
	"fmt"
	"regexp"
	"strings"
)

// maxShortName is the length of a DNS label (RFC 1035), which a short host name is.
const maxShortName = 63

// label is what the kernel, DNS and Kubernetes agree on for one part of a host name.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// ShortName returns a host name up to its first dot, in lower case.
func ShortName(host string) string {
	short, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(host)), ".")
	return short
}

// FileName returns the name of the file of a host, given by its short or full name.
func FileName(host string) string { return ShortName(host) + Extension }

// CheckHostName returns what keeps a name, short or full, from being one that a file can be for; nil if nothing does.
func CheckHostName(host string) error {
	if host == "" {
		return fmt.Errorf("a host name must not be empty")
	}
	for part := range strings.SplitSeq(host, ".") {
		if len(part) > maxShortName || !label.MatchString(part) {
			return fmt.Errorf("%q is not a host name; use lower-case letters, digits and -, at most %d of them between two dots", host, maxShortName)
		}
	}
	switch short := ShortName(host); {
	case short+Extension == ClusterFile:
		return fmt.Errorf("a host must not be called %q: %s is the file of all hosts", short, ClusterFile)
	case Unnamed(host):
		return fmt.Errorf("%q is what a host is called before it has a name", host)
	}
	return nil
}

// Unnamed reports whether a name is one that a host has before it gets its own: none, or one of localhost's.
func Unnamed(host string) bool {
	switch short := ShortName(host); short {
	case "", "localhost", "(none)":
		return true
	}
	return false
}
