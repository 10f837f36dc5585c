// Package netlinkdump lists what the kernel has, also while it changes.
package netlinkdump

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// attempts bounds how often a list is read.
const attempts = 100

// All calls list until nothing has changed while the kernel answered, at most a hundred times: a list that was interrupted
// (netlink.ErrDumpInterrupted) may lack entries that exist. It is then the error, without a list.
func All[T any](list func() ([]T, error)) (all []T, err error) {
	for range attempts {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return nil, err
}
