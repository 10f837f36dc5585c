package flows

import (
	"regexp"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// RefusedError reports that Open vSwitch refuses a flow or a meter of an owner. The bridge has no flow of the set.
type RefusedError struct {
	Owner string
	Err   error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Owner + ": " + e.Err.Error() }

// Unwrap returns the error of ovs-ofctl.
func (e *RefusedError) Unwrap() error { return e.Err }

var (
	// refusedLine matches the line of a flow that has no form as a message, such as one that is too large.
	refusedLine = regexp.MustCompile(`ovs-ofctl: -:(\d+): `)
	// refusedCookie matches the cookie of a flow that ovs-vswitchd refuses.
	refusedCookie = regexp.MustCompile(`Error \w+ for: OFPT_FLOW_MOD [^\n]* cookie:(0x[0-9a-f]+)`)
)

// refused returns a RefusedError if an error of ovs-ofctl names a flow of an owner, else the error.
func refused(err error, s openflow.Set) error {
	if err == nil {
		return nil
	}
	owner := ""
	if m := refusedLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1]) // no set has more lines than an int
		owner = s.OwnerAt(line)
	} else if m := refusedCookie.FindStringSubmatch(err.Error()); m != nil {
		cookie, _ := strconv.ParseUint(m[1], 0, 64) // cookies have 64 bits
		owner = s.OwnerOf(cookie)
	}
	if owner == "" {
		return err
	}
	return &RefusedError{owner, err}
}
