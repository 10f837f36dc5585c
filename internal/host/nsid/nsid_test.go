package nsid

import "testing"

func TestNamespacesAreNamedAsInTheAgentsContainer(t *testing.T) {
	for path, want := range map[string]string{
		"/var/run/netns/cni-1": "/run/netns/cni-1", "/run/netns/cni-1": "/run/netns/cni-1", "/proc/7/ns/net": "/proc/7/ns/net", "": "",
	} {
		if got := BelowRun(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
