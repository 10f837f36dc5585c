package config

import (
	"errors"
	"fmt"
	"strings"
)

// parseINI parses sections, comments and KEY=VALUE. The keys of the result are "section.key"; empty values count as unset.
func parseINI(content []byte) (map[string]string, error) {
	out, section, problems := map[string]string{}, "default", []error(nil)
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimSpace(line)
		key, value, isKey := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = strings.TrimSpace(line[1 : len(line)-1])
		case isKey:
			name := section + "." + strings.TrimSpace(key)
			if _, twice := out[name]; twice {
				problems = append(problems, fmt.Errorf("%s, line %d: key %s is set twice", File, number, name))
			}
			out[name] = strings.TrimSpace(value)
		default:
			problems = append(problems, fmt.Errorf("%s, line %d: %q is not a [section], KEY=VALUE or a comment", File, number, line))
		}
	}
	return out, errors.Join(problems...)
}
