package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Outer maps the numbers that processes of one inner PID namespace have there
// to those they have here, for the processes given by the latter. Processes
// that are gone are left out.
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
