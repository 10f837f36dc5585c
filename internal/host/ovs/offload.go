package ovs

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setTxChecksum is ETHTOOL_STXCSUM of linux/ethtool.h.
const setTxChecksum = 0x17

// DisableTxOffload disables transmit checksum offload, and with it segmentation offload, of an interface of the current network namespace. The userspace
// datapath does not complete checksums: with the offload, TCP and UDP fail on an interface that leads to it, although pings work.
func DisableTxOffload(link string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("disable offloads of %s: %w", link, err)
	}
	defer func() { _ = unix.Close(socket) }()
	value := struct{ command, data uint32 }{command: setTxChecksum}
	request, err := unix.NewIfreq(link)
	if err != nil {
		return fmt.Errorf("disable offloads of %s: %w", link, err)
	}
	// ifreq's data is a pointer, which package unix only sets for its own requests.
	raw := (*struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
	})(unsafe.Pointer(request))
	raw.data = unsafe.Pointer(&value)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(raw))); errno != 0 {
		return fmt.Errorf("disable offloads of %s: %w", link, errno)
	}
	return nil
}
