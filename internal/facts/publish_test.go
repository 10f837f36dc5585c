package facts

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPublishedFactsRoundTrip(t *testing.T) {
	want := Cluster{Platform: "AWS", APIServer: HostPort{Host: "fd00::1", Port: 6443}, Images: Images{"FLANNEL_IMAGE": "a/b:c"}, ReleaseVersion: "v1", KeepConntrackMax: true}
	data, err := want.Publish()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Published(data)
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestUnreadableFactsAreAnError(t *testing.T) {
	good := map[string]string{"apiServer": "a:1", "images": "{}"}
	for why, change := range map[string][2]string{
		"no port": {"apiServer", "a"}, "a port that is no number": {"apiServer", "a:b"}, "images that are no JSON": {"images", "x"},
	} {
		data := map[string]string{"apiServer": good["apiServer"], "images": good["images"], change[0]: change[1]}
		if _, err := Published(data); err == nil {
			t.Errorf("%s is accepted", why)
		}
	}
}
