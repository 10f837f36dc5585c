package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// anyCPU is the value of --cpu that does not pin the process.
const anyCPU = -1

// pin restricts the process to one CPU. It sets the affinity of the calling thread and re-executes the process, because existing
// threads keep their affinity. It returns in the restricted process, or immediately for anyCPU.
func pin(cpu int) error {
	if cpu == anyCPU {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var wanted, allowed unix.CPUSet
	wanted.Set(cpu)
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("read CPU affinity: %w", err)
	}
	if allowed == wanted {
		return nil
	}
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("pin to CPU %d: %w", cpu, err)
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}
