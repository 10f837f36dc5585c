package imageserver

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/ignition/v2/config/v3_2/types"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/isotest"
)

const urlKey = "fedcba9876543210fedcba9876543210"

func keyed(o *Options) { o.URLKey, o.URL = urlKey, "http://images" }

func offer(version, document string) Offer {
	return Offer{Namespace: "metal", Name: "a", Version: []string{version}, File: "a-secret", Document: []byte(document)}
}

// offered offers, and fails the test on an error that is none of the document.
func (l *lab) offered(o Offer) Offered {
	l.t.Helper()
	got, err := l.server.Offer(o)
	if err != nil {
		l.t.Fatal(err)
	}
	return got
}

// at is where a URL of a server that believes to be elsewhere is.
func (l *lab) at(url string) string { return l.web.URL + strings.TrimPrefix(url, "http://images") }

func TestTheSameOfferHasTheSameURLOnEveryServer(t *testing.T) {
	one, other := newLab(t, keyed), newLab(t, keyed)
	first := one.offered(offer("1", fixed))
	if again := one.offered(offer("1", fixed)); again.ISO != first.ISO || first.ISO == "" || first.Initramfs == "" {
		t.Errorf("%v, then %v", first, again)
	}
	if got := other.offered(offer("1", fixed)); got.ISO != first.ISO || got.Initramfs != first.Initramfs {
		t.Errorf("%v on one server, %v on the other", first, got)
	}
	one.serves("the URL of the other server", one.at(first.ISO), "192.0.2.9")
	other.serves("the URL of one server", other.at(first.Initramfs), "192.0.2.9")
}

func TestEverythingInTheImageChangesTheURL(t *testing.T) {
	first := newLab(t, keyed).offered(offer("1", fixed))
	name, namespace := offer("1", fixed), offer("1", fixed)
	name.Name, namespace.Namespace = "b", "b"
	for why, o := range map[string]Offer{"another version": offer("2", fixed), "another document": offer("1", dhcp), "another name": name, "another namespace": namespace} {
		if got := newLab(t, keyed).offered(o); secretOf(got.ISO) == secretOf(first.ISO) {
			t.Errorf("%s has the same URL", why)
		}
	}
	for why, change := range map[string]func(*Options){
		"another key":                func(o *Options) { o.URLKey = token },
		"another base configuration": func(o *Options) { o.Base = &types.Config{Ignition: types.Ignition{Version: "3.2.0"}} },
		"profiles for early networks": func(o *Options) {
			o.EarlyNetwork = true
		},
		"another initramfs": func(o *Options) { write(t, o.Initramfs, isotest.Noise(60_001)) },
	} {
		if got := newLab(t, keyed, change).offered(offer("1", fixed)); secretOf(got.ISO) == secretOf(first.ISO) {
			t.Errorf("%s has the same URL", why)
		}
	}
}

func secretOf(url string) string { return strings.Split(url, "/")[4] }

func TestAnOfferReplacesTheFormerOneAndIsWithdrawn(t *testing.T) {
	l := newLab(t, keyed)
	l.documents(map[string]string{"a.yml": dhcp})
	first := l.offered(offer("1", dhcp))
	second := l.offered(offer("2", fixed))
	l.serves("the new URL", l.at(second.ISO), "192.0.2.9")
	l.pass(59 * time.Minute)
	l.documents(map[string]string{"a.yml": dhcp})
	l.serves("the old URL after 59 minutes", l.at(first.ISO), "method%3Dauto")
	l.pass(2 * time.Minute)
	l.documents(map[string]string{"a.yml": dhcp})
	l.gone("the old URL after an hour", l.at(first.ISO))
	if hosts := l.list(); len(hosts) != 2 || hosts["metal/a"].ISO != second.ISO || hosts["a"].ISO == "" {
		t.Errorf("the list has %v", hosts)
	}
	l.server.Withdraw("metal", "a")
	l.server.Withdraw("metal", "never")
	l.gone("the URL of a host that was withdrawn", l.at(second.ISO))
	if hosts := l.list(); len(hosts) != 1 || hosts["a"].ISO == "" {
		t.Errorf("the list has %v", hosts)
	}
	// What was withdrawn comes back at its URL.
	l.offered(offer("2", fixed))
	l.serves("the URL of what was offered again", l.at(second.ISO), "192.0.2.9")
}

func TestAnInvalidOfferHasItsProblemsAndAnEmptyOneHasNoProfiles(t *testing.T) {
	l := newLab(t, keyed)
	bad := l.offered(offer("1", ovs))
	if bad.ISO != "" || bad.Initramfs != "" || len(bad.Problems) != 1 || bad.Problems[0].File != "a-secret" || bad.Problems[0].Line != 1 {
		t.Errorf("%+v", bad)
	}
	empty := l.offered(offer("2", ""))
	_, image := l.get("GET", l.at(empty.ISO))
	if config, _ := l.ignition(image); !strings.Contains(config, `"version":"3.2.0"`) || strings.Contains(config, "nmconnection") {
		t.Errorf("the configuration is %s", config)
	}
}

func TestAServerWithoutAKeyTakesNoOffers(t *testing.T) {
	l := newLab(t)
	if _, err := l.server.Offer(offer("1", dhcp)); err == nil {
		t.Error("no error")
	}
	if _, err := New(Options{Initramfs: "x", URLKey: "short"}); err == nil || !strings.Contains(err.Error(), "it must have 32") {
		t.Error(err)
	}
}

func TestAServerWithoutADirectoryHasNoListForThoseWithoutAToken(t *testing.T) {
	l := newLab(t, keyed, func(o *Options) { o.Hosts, o.Token = nil, "" })
	if err := l.server.Scan(); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{"", "Bearer ", "Bearer " + token} {
		if res, _ := l.get("GET", l.web.URL+"/hosts", "Authorization", given); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: %s", given, res.Status)
		}
	}
}

func TestTheKernelIsServedBesideTheInitramfs(t *testing.T) {
	content := isotest.Noise(30_001)
	file := filepath.Join(t.TempDir(), "kernel")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, keyed, func(o *Options) { o.Kernel = file })
	url := l.server.KernelURL()
	if _, got := l.get("GET", l.at(url)); !bytes.Equal(got, content) {
		t.Errorf("%s has %d bytes", url, len(got))
	}
	if res, got := l.get("GET", l.at(url), "Range", "bytes=10-19"); res.StatusCode != http.StatusPartialContent || !bytes.Equal(got, content[10:20]) {
		t.Errorf("a range: %s", res.Status)
	}
	l.gone("another kernel", l.web.URL+"/kernels/0")
	without := newLab(t)
	without.gone("no kernel", without.web.URL+"/kernels/")
	without.gone("no kernel", without.web.URL+"/kernels/0")
	if got := without.server.KernelURL(); got != "" {
		t.Error(got)
	}
}
