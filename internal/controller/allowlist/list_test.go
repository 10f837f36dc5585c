package allowlist

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListsAreReadAsThePluginReadsThem(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"two settings", "^net.ipv4.conf.IFNAME.rp_filter$\n^net.ipv6.conf.IFNAME.accept_ra$\n", "^net.ipv4.conf.IFNAME.rp_filter$\n^net.ipv6.conf.IFNAME.accept_ra$"},
		{"spaces, empty lines and line ends of Windows", "\n  ^a$ \r\n\n^b$", "^a$\n^b$"},
		{"nothing allows no setting", "", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := parse(map[string]string{key: row.text})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnreadableListsAreRefusedWithAllErrors(t *testing.T) {
	for _, row := range []struct {
		why  string
		data map[string]string
		want []string
	}{
		{"another key", map[string]string{"allowlist": "^a$"}, []string{"no key allowlist.conf", "delete the ConfigMap to restore the default"}},
		{"two lines", map[string]string{key: "^a$\n^b($\n*"}, []string{`line 2: "^b($" is not a regular expression`, `line 3: "*" is not a regular expression`}},
		{"too long", map[string]string{key: strings.Repeat("a\n", maxBytes)}, []string{"131072 bytes; the maximum is 65536"}},
		{"what no environment can hold", map[string]string{key: "a\x00b"}, []string{"zero byte"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, err := parse(row.data)
			for _, want := range row.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not contain %q", err, want)
				}
			}
		})
	}
}

func TestDefaultAllowsOnlySafeSysctls(t *testing.T) {
	list, err := defaultList()
	if err != nil {
		t.Fatal(err)
	}
	allows := func(sysctl string) bool {
		for _, line := range strings.Split(list, "\n") {
			if regexp.MustCompile(line).MatchString(sysctl) {
				return true
			}
		}
		return false
	}
	for sysctl, want := range map[string]bool{
		"net.ipv4.conf.IFNAME.arp_notify":         true,
		"net.ipv6.neigh.IFNAME.retrans_time_ms":   true,
		"net.ipv4.conf.all.arp_notify":            false,
		"net.ipv4.conf.IFNAME.arp_notify.x":       false,
		"net.core.somaxconn":                      false,
		"net.ipv4.ip_forward":                     false,
		"net.ipv4.conf.IFNAME.forwarding":         false,
		"x.net.ipv4.conf.IFNAME.accept_redirects": false,
	} {
		if got := allows(sysctl); got != want {
			t.Errorf("%s: %v, want %v", sysctl, got, want)
		}
	}
}

// FuzzListsReachNodesUnchanged promises that what is not refused is what a container gets, after Kubernetes has expanded the value.
func FuzzListsReachNodesUnchanged(f *testing.F) {
	for _, seed := range []string{"^net.ipv4.conf.IFNAME.rp_filter$", "$(ALLOWLIST)", "$$(A)", "$", "a\n$$$\n\t", "^b($", "\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parse(map[string]string{key: text})
		if err != nil {
			return
		}
		requeueAfter, err := parse(map[string]string{key: list})
		if err != nil || requeueAfter != list {
			t.Errorf("%q becomes %q, %v", list, requeueAfter, err)
		}
		object, err := daemonSet(list, settings{Image: "i"})
		if err != nil {
			t.Fatal(err)
		}
		value := valueOf(t, object)
		if got := expand(value); got != list {
			t.Errorf("%q arrives as %q", list, got)
		}
	})
}
