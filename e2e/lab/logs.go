package lab

import (
	"fmt"
	"path/filepath"
	"strings"
)

// LogFiles lists the log files below a log directory that belong to a target: a
// node, a component or NODE/COMPONENT; empty means all. It works without a
// running lab.
func LogFiles(dir, target string) ([]string, error) {
	var patterns []string
	switch node, unit, both := strings.Cut(target, "/"); {
	case target == "":
		patterns = []string{"*/*.log"}
	case both:
		patterns = []string{node + "/" + unit + ".log"}
	default:
		patterns = []string{target + "/*.log", "*/" + target + ".log"}
	}
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			return nil, fmt.Errorf("look for logs of %q: %w", target, err)
		}
		files = append(files, found...)
	}
	return files, nil
}
