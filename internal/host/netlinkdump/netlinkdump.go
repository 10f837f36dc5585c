// Package netlinkdump lists objects of the kernel consistently while they change.
package netlinkdump

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// attempts is the maximum number of attempts to read a list.
const attempts = 100

// All calls list, and repeats it up to a hundred times while a concurrent change interrupts the dump (netlink.ErrDumpInterrupted), because an interrupted
// list may be incomplete. After the last attempt it returns that error without a list.
func All[T any](list func() ([]T, error)) (all []T, err error) {
	for range attempts {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return nil, err
}
