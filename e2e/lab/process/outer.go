package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Outer maps the PIDs of processes in one inner PID namespace to their PIDs in this
// one, for the processes with the given PIDs in this one. It omits processes that
// have ended.
func Outer(pids []int) map[int]int {
	outer := map[int]int{}
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		// Containers may be further in; what matters is one level below here.
		if chain := namespacePIDs(string(status)); len(chain) > 1 {
			outer[chain[1]] = pid
		}
	}
	return outer
}

// namespacePIDs reads the line NSpid of /proc/PID/status (proc(5)): the
// process's numbers from the reader's namespace inwards.
func namespacePIDs(status string) []int {
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, "NSpid:")
		if !ok {
			continue
		}
		var chain []int
		for _, f := range strings.Fields(rest) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				return nil
			}
			chain = append(chain, pid)
		}
		return chain
	}
	return nil
}
