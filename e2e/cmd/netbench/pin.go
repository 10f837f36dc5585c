package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// anyCPU as the value of --cpu leaves the placement to the scheduler.
const anyCPU = -1

// pin runs the process on one CPU only: it limits the calling thread and executes itself again, since threads that exist
// already would keep their CPUs. It returns once the process is limited, at once for anyCPU.
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
