package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/multinet/policy/kernel"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// Keys of the ConfigMap multi-networkpolicy-custom-rules, which is mounted as a directory.
const (
	customIPv4 = "custom-v4-rules.txt"
	customIPv6 = "custom-v6-rules.txt"
)

// customReader returns a function that reads the administrator's rules from a directory. It omits rules that the kernel rejects. note is called with their
// errors when the files have changed.
func customReader(dir string, k *kernel.Kernel, note func(error)) func() policy.Custom {
	var mu sync.Mutex
	var last [2]string
	var made policy.Custom
	read := false
	return func() policy.Custom {
		mu.Lock()
		defer mu.Unlock()
		var texts [2]string
		for i, name := range []string{customIPv4, customIPv6} {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				note(fmt.Errorf("read the custom rules of policies: %w", err))
				return made
			}
			texts[i] = string(raw)
		}
		if read && texts == last {
			return made
		}
		var errs []error
		accept := func(name, rule string) bool {
			err := checkCustom(k, rule)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: rule %q of ConfigMap multi-networkpolicy-custom-rules is ignored: %w", name, strictjson.Short(rule), err))
			}
			return err == nil
		}
		made = policy.Custom{
			IPv4: policy.CustomRules(texts[0], func(rule string) bool { return accept(customIPv4, rule) }),
			IPv6: policy.CustomRules(texts[1], func(rule string) bool { return accept(customIPv6, rule) }),
		}
		last, read = texts, true
		note(errors.Join(errs...))
		return made
	}
}

// checkCustom returns an error if the kernel rejects a rule.
func checkCustom(k *kernel.Kernel, rule string) error {
	if strings.ContainsRune(rule, ';') {
		return errors.New("it is more than one rule")
	}
	return k.Check(context.Background(), policy.Ruleset{Chains: []policy.Chain{{Name: "custom", Rules: []string{rule}}}})
}
