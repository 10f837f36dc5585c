package allowlist

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cluster-network-operator/cno/internal/multinet/sysctls"
)

const (
	// key is the key of the list in a ConfigMap.
	key = "allowlist.conf"
	// maxBytes is the maximum size of a list in bytes. It is passed in an environment variable, which Linux limits to 128 KiB.
	maxBytes = 64 << 10
)

// parse returns the list in a ConfigMap in normalized form, without empty lines and surrounding spaces. The error lists all problems: the
// plug-in fails for all pods with sysctls if one line is not a regular expression.
func parse(data map[string]string) (string, error) {
	text, ok := data[key]
	if !ok {
		return "", fmt.Errorf("it has no key %s; write one regular expression per line, leave it empty to allow no sysctl, or delete the ConfigMap to restore the default", key)
	}
	if len(text) > maxBytes {
		return "", fmt.Errorf("%s has %d bytes; the maximum is %d. Use one expression for several sysctls", key, len(text), maxBytes)
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

// defaultList returns the list for new ConfigMaps: sysctls that affect only the interface of the pod.
func defaultList() (string, error) {
	return parse(map[string]string{key: sysctls.Default()})
}
