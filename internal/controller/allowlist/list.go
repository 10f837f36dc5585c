package allowlist

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
)

const (
	// key is that of the list in a ConfigMap.
	key = "allowlist.conf"
	// longest is how many bytes a list may have: it travels in an environment variable, of which Linux takes 128 KiB.
	longest = 64 << 10
)

// parse returns the list that a ConfigMap has, in the form in which nodes get it: without empty lines and spaces around lines, which the
// plug-in ignores, too. The error names everything that is wrong: one line that is no regular expression keeps the plug-in from making
// any pod that asks for a setting.
func parse(data map[string]string) (string, error) {
	text, ok := data[key]
	if !ok {
		return "", fmt.Errorf("it has no key %s; write one regular expression a line, nothing to allow no setting, or delete the ConfigMap to get the default back", key)
	}
	if len(text) > longest {
		return "", fmt.Errorf("%s has %d bytes; it may have %d. Use one expression for several settings", key, len(text), longest)
	}
	var lines []string
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if _, err := regexp.Compile(line); err != nil {
			errs = append(errs, fmt.Errorf("%s, line %d: %q is not a regular expression: %w", key, i+1, line, err))
		}
		if strings.ContainsRune(line, 0) {
			errs = append(errs, fmt.Errorf("%s, line %d has a zero byte", key, i+1))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), errors.Join(errs...)
}

// shipped returns the list that new ConfigMaps get: settings that affect nothing but the interface of the pod.
func shipped() (string, error) {
	return parse(map[string]string{key: sysctls.Default()})
}
