// Package residency reduces the memory of long-running processes.
//
// Half of the resident memory of a large Go process is its code, most of which runs only at the start. The kernel keeps these pages mapped, although it
// can read them from the file again.
package residency

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Release returns garbage and the pages of the executable to the kernel. Pages that are still needed return from the page cache. Errors can be ignored.
func Release() error {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("read own mappings: %w", err)
	}
	for _, r := range readOnly(maps, program) {
		// The library's Madvise needs a slice, and the address is not a Go pointer.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, r.start, r.end-r.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release pages of own executable: %w", errno)
		}
	}
	return nil
}

// region is a range of addresses.
type region struct{ start, end uintptr }

// readOnly returns the read-only mappings of a file, whose content equals that of the file. Each line of maps has the form: start-end permissions offset
// device inode path.
func readOnly(maps []byte, file string) []region {
	var found []region
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[5] != file || strings.Contains(fields[1], "w") {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(low, 16, strconv.IntSize)
		end, err2 := strconv.ParseUint(high, 16, strconv.IntSize)
		if err == nil && err2 == nil && start < end {
			found = append(found, region{uintptr(start), uintptr(end)})
		}
	}
	return found
}

// Resident returns the resident memory of this process in bytes.
func Resident() (int, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	fields := strings.Fields(string(statm)) // total and resident size in pages, and more
	if len(fields) < 2 {
		return 0, fmt.Errorf("read own memory: %q has no second field", statm)
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	return pages * os.Getpagesize(), nil
}
