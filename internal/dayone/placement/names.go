package placement

import (
	"fmt"
	"regexp"
	"strings"
)

// maxShortName is the maximum length of a short host name, which is a DNS label (RFC 1035).
const maxShortName = 63

// label matches a part of a host name that is valid for the kernel, DNS and Kubernetes.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// ShortName returns a host name up to its first dot, in lower case.
func ShortName(host string) string {
	short, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(host)), ".")
	return short
}

// FileName returns the name of the file of a host with a short or full name.
func FileName(host string) string { return ShortName(host) + Extension }

// CheckHostName returns an error if no file can be for a host with a short or full name.
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

// Unnamed reports whether a name is that of a host without a name: empty, or a name of localhost.
func Unnamed(host string) bool {
	switch short := ShortName(host); short {
	case "", "localhost", "(none)":
		return true
	}
	return false
}
