package openflow

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rate is a meter: it drops what exceeds a rate.
type Rate struct {
	// ID is the argument of the action Meter, 1 or more.
	ID uint32
	// Kilobits is the rate per second, Burst the kilobits that may exceed it after a pause.
	Kilobits, Burst uint32
}

// String is the meter in the notation of ovs-ofctl(8).
func (r Rate) String() string {
	return fmt.Sprintf("meter=%d,kbps,burst,bands=type=drop,rate=%d,burst_size=%d", r.ID, r.Kilobits, r.Burst)
}

// rateComment begins the comments that carry meters in the text of a set: a file of flows has none.
const rateComment = "# meter "

var rateText = regexp.MustCompile(`^# meter (\d+) (\d+) (\d+)$`)

// WithRates returns the set with meters, which its flows name.
func (s Set) WithRates(rates ...Rate) Set {
	slices.SortFunc(rates, func(a, b Rate) int { return cmp.Compare(a.ID, b.ID) })
	s.rates = rates
	return s
}

// Rates are the meters of the set, by ID.
func (s Set) Rates() []Rate {
	if s.text == "" {
		return s.rates
	}
	var out []Rate
	for line := range strings.Lines(s.text) {
		m := rateText.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			break // they come first
		}
		var n [3]uint32
		for i := range n {
			v, err := strconv.ParseUint(m[i+1], 10, 32)
			if err != nil {
				return out
			}
			n[i] = uint32(v)
		}
		out = append(out, Rate{n[0], n[1], n[2]})
	}
	return out
}
