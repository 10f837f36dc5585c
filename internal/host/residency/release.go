// Package residency keeps small how much memory a long-running program occupies.
//
// Half of what a large Go program occupies is its own code, of which most runs once, at the start. The kernel keeps
// it mapped although it could read it again from the file at any time.
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

// Release gives memory back to the kernel: garbage, and the pages of the program's file. What is still needed of
// those comes back by itself from the page cache. Nothing depends on it: an error says that it was not possible.
func Release() error {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("read own mappings: %w", err)
	}
	for _, r := range readOnly(maps, program) {
		// The address is no Go pointer, which the library's Madvise would ask for.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, r.start, r.end-r.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("release pages of own program: %w", errno)
		}
	}
	return nil
}

// region is a range of addresses.
type region struct{ start, end uintptr }

// readOnly finds the mappings of a file that cannot be written: only those hold nothing but what is in the file.
// Each line of maps is: start-end permissions offset device inode path.
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

// Resident returns how many bytes of memory this process occupies now.
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
