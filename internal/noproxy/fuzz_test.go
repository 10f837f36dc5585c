package noproxy

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
)

// FuzzMerge holds that the list is in order, without blanks, empty items and repetitions, and that merging it again
// changes nothing.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{"", "*", ".example.com, 10.0.0.0/8", ",,,", "a,a ,\ta", "localhost,.svc"} {
		f.Add(seed, "10.0.0.0/16")
	}
	f.Fuzz(func(t *testing.T, user, machines string) {
		c := Cluster{Infrastructure: infra(), Network: networks(), MachineNetworks: []string{machines}}
		merged, problems := Merge(user, c)
		if len(problems) > 0 {
			if merged != "" {
				t.Fatalf("both a list and problems: %q, %v", merged, problems)
			}
			return
		}
		items := strings.Split(merged, ",")
		if !slices.IsSorted(items) || len(slices.Compact(slices.Clone(items))) != len(items) || slices.Contains(items, "") {
			t.Fatalf("%q is not a set in order", merged)
		}
		for _, item := range items {
			if item != strings.TrimSpace(item) {
				t.Fatalf("%q is not trimmed", item)
			}
		}
		if again, _ := Merge(merged, c); again != merged {
			t.Fatalf("merged again: %q, before: %q", again, merged)
		}
	})
}

// FuzzValidate holds that a password is in no message, and that what is accepted is a URL with a host for all parsers.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{"http://user:" + secret + "@proxy:3128", "htp://bad:99999", "http://a@b:" + secret + "@c", "x://" + secret + "@://", "http://[::1]:1"} {
		f.Add(seed, ".a,10.0.0.0/8,*.b", "https://x")
	}
	f.Fuzz(func(t *testing.T, proxy, list, endpoint string) {
		spec := configv1.ProxySpec{HTTPProxy: proxy, HTTPSProxy: proxy, NoProxy: list, ReadinessEndpoints: []string{endpoint}}
		errs := Validate(&spec)
		u, err := url.Parse(proxy)
		if len(errs) == 0 && proxy != "" && (err != nil || u.Hostname() == "" || u.Scheme != "http") {
			t.Fatalf("%q is accepted: %v", proxy, err)
		}
		if err != nil || u.User == nil {
			return
		}
		// A short password is part of other words.
		if password, _ := u.User.Password(); len(password) > 8 && strings.Contains(Redact(proxy), password) && !strings.Contains(strings.Replace(proxy, password, "", 1), password) {
			t.Fatalf("Redact(%q) = %q", proxy, Redact(proxy))
		}
	})
}

// FuzzMachineNetworks holds that no document makes it panic.
func FuzzMachineNetworks(f *testing.F) {
	f.Add("networking:\n  machineNetwork:\n  - cidr: 10.0.0.0/16\n")
	f.Add("networking: &a [*a]")
	f.Fuzz(func(_ *testing.T, document string) { _, _ = MachineNetworks([]byte(document)) })
}
