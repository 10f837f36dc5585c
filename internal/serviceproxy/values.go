package serviceproxy

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// The errors of these parsers continue the value: "30" has no unit; write 30s.

// problem is the error of a parser: a sentence with its arguments.
type problem struct {
	sentence rules.Sentence
	args     []any
}

func (p *problem) Error() string { return p.sentence.Detail(p.args...) }

// invalid returns the field error for the error of a parser.
func invalid(path *field.Path, value string, err error) *field.Error {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.sentence.Invalid(path, value, p.args...)
	}
	return rules.KubeProxyValue.Invalid(path, value, err)
}

// parseDuration parses a duration of at least least.
func parseDuration(s string, least time.Duration) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n != 0 && !math.IsInf(n, 0) && !math.IsNaN(n) {
		return 0, &problem{rules.KubeProxyUnit, []any{s}}
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, &problem{rules.KubeProxyDuration, nil}
	case d < least && least == 0:
		return 0, &problem{rules.KubeProxyNegative, nil}
	case d < least:
		return 0, &problem{rules.KubeProxyPositive, nil}
	}
	return d, nil
}

// parseInt parses a whole number from lo to hi.
func parseInt(s string, lo, hi int32) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < int64(lo) || n > int64(hi) {
		if hi == math.MaxInt32 {
			return 0, fmt.Errorf("is not a whole number of at least %d", lo)
		}
		return 0, fmt.Errorf("is not a whole number from %d to %d", lo, hi)
	}
	return int32(n), nil
}

// parseBool parses true or false. It also accepts the other values of Go flags (1, T), which messages do not mention.
func parseBool(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("is neither true nor false")
	}
	return b, nil
}

// parseWord parses one of the allowed words, which are case-sensitive.
func parseWord(s string, allowed ...string) (string, error) {
	if slices.Contains(allowed, s) {
		return s, nil
	}
	for _, a := range allowed {
		if strings.EqualFold(a, s) {
			return "", fmt.Errorf("must be written as %s", a)
		}
	}
	return "", fmt.Errorf("is none of %s", strings.Join(allowed, ", "))
}

// parseAddress parses an IP address without a zone.
func parseAddress(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return netip.Addr{}, &problem{rules.KubeProxyBindAddress, nil}
	case a.Zone() != "" || a.Is4In6():
		return netip.Addr{}, &problem{rules.KubeProxyAddressForm, []any{a.Unmap().WithZone("")}}
	}
	return a, nil
}

// parseCIDR parses a network without host bits.
func parseCIDR(s string) (netip.Prefix, error) { return netaddr.ParseCIDR(s) }

// parseName parses the name of a network interface, or its prefix: the kernel allows 15 bytes without spaces and
// slashes.
func parseName(s string) (string, error) {
	if s == "" || len(s) > 15 || strings.ContainsAny(s, "/ \t\n") {
		return "", &problem{rules.KubeProxyInterface, nil}
	}
	return s, nil
}
