package status

import "slices"

// key returns the key of a finding in Memory.Seen.
func (f Finding) key() string {
	if f.Subject != "" {
		return string(f.Effect) + "/" + f.Component + "/" + f.Subject
	}
	return string(f.Effect) + "/" + f.Component + "/" + f.Reason
}

// debounce removes Degraded findings that have not lasted long enough, and NotUpgradeable findings of the same cause. It
// records since when each has lasted, and the time of the next decision.
func debounce(in Input, d *Decision, findings []Finding) []Finding {
	type cause struct{ component, reason string }
	held := map[cause]bool{}
	var kept []Finding
	for _, f := range findings {
		if f.Effect != Degraded || f.Immediate {
			kept = append(kept, f)
			continue
		}
		left := degradedAfter - in.Now.Sub(in.since(d, f.key(), f.Since))
		if left <= 0 {
			kept = append(kept, f)
			continue
		}
		d.again(left)
		held[cause{f.Component, f.Reason}] = true
		if f.Meanwhile != "" {
			f.Effect = f.Meanwhile
			kept = append(kept, f)
		}
	}
	return slices.DeleteFunc(kept, func(f Finding) bool {
		return f.Effect == NotUpgradeable && !f.Immediate && held[cause{f.Component, f.Reason}]
	})
}
