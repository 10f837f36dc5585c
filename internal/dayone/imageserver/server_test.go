package imageserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestAURLIsOfOneHostAndCannotBeGuessed(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp, "b.yml": dhcp})
	hosts := l.list()
	url := regexp.MustCompile(`^` + regexp.QuoteMeta(l.web.URL) + `/images/([0-9a-f]{32})/a\.iso$`).FindStringSubmatch(hosts["a"].ISO)
	if url == nil {
		t.Fatal(hosts["a"].ISO)
	}
	if strings.Contains(hosts["b"].ISO, url[1]) {
		t.Error("two hosts share a secret")
	}
	for why, wrong := range map[string]string{
		"another secret":           strings.Replace(hosts["a"].ISO, url[1], strings.Repeat("0", 32), 1),
		"a secret without end":     strings.Replace(hosts["a"].ISO, url[1], url[1][:31], 1),
		"a secret in capitals":     strings.Replace(hosts["a"].ISO, url[1], strings.ToUpper(url[1])+"X", 1),
		"another host's name":      strings.Replace(hosts["a"].ISO, "/a.iso", "/b.iso", 1),
		"another form":             strings.Replace(hosts["a"].ISO, ".iso", ".raw", 1),
		"no form":                  strings.TrimSuffix(hosts["a"].ISO, ".iso"),
		"no secret":                l.web.URL + "/images/a.iso",
		"the directory":            l.web.URL + "/images/",
		"the directory of an host": strings.TrimSuffix(hosts["a"].ISO, "a.iso"),
		"a way out":                l.web.URL + "/images/..%2f..%2fetc/passwd",
		"the root":                 l.web.URL + "/",
	} {
		l.gone(why, wrong)
	}
	if strings.Contains(l.log.String(), url[1]) {
		t.Error("a secret is in the log")
	}
	_, figures := l.get("GET", l.web.URL+"/metrics")
	if strings.Contains(string(figures), url[1]) || !strings.Contains(string(figures), `host_image_server_hosts{state="served"} 2`) {
		t.Errorf("figures: %s", figures)
	}
}

func TestTheListIsForThoseWithTheToken(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp})
	for why, given := range map[string]string{"nothing": "", "another token": "Bearer x", "no scheme": token, "another scheme": "Basic " + token, "a part": "Bearer " + token[:31]} {
		if res, body := l.get("GET", l.web.URL+"/hosts", "Authorization", given); res.StatusCode != http.StatusUnauthorized || strings.Contains(string(body), "/images/") {
			t.Errorf("%s: %s %s", why, res.Status, body)
		}
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp})
	for _, url := range []string{l.list()["a"].ISO, l.web.URL + "/hosts"} {
		for _, method := range []string{"PUT", "POST", "PATCH", "DELETE"} {
			if res, _ := l.get(method, url); res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s: %s", method, res.Status)
			}
		}
	}
	if res, _ := l.get("GET", l.web.URL+"/healthz"); res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
}

func TestAChangedDocumentHasAnotherURLAndTheOldOneEndsLater(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp, "b.yml": dhcp})
	first := l.list()
	l.documents(map[string]string{"a.yml": fixed, "b.yml": dhcp})
	second := l.list()
	if second["a"].ISO == first["a"].ISO || second["b"].ISO != first["b"].ISO {
		t.Errorf("%v then %v", first, second)
	}
	l.serves("the new URL", second["a"].ISO, "192.0.2.9")
	l.serves("the old URL, from which the host may be booting", first["a"].ISO, "method%3Dauto")
	l.pass(59 * time.Minute)
	l.documents(map[string]string{"a.yml": fixed, "b.yml": dhcp})
	l.serves("the old URL after 59 minutes", first["a"].ISO, "method%3Dauto")
	l.pass(2 * time.Minute)
	l.documents(map[string]string{"a.yml": fixed, "b.yml": dhcp})
	l.gone("the old URL after an hour", first["a"].ISO)
	l.serves("the new URL", second["a"].ISO, "192.0.2.9")
	l.documents(map[string]string{"b.yml": dhcp})
	l.gone("the URL of a host that was deleted", second["a"].ISO)
	if len(l.list()) != 1 {
		t.Error(l.list())
	}
}

func TestABadDocumentStopsItsOwnHostOnly(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp, "b.yml": ovs, "c.yml": dhcp, "c.yaml": dhcp, "D.yml": dhcp, ".hidden.yml": ovs})
	hosts := l.list()
	if len(hosts) != 4 || hosts["a"].ISO == "" || len(hosts["a"].Problems) > 0 {
		t.Errorf("%v", hosts)
	}
	for name, want := range map[string]string{"b": "Open vSwitch is not available before the boot", "c": "has several documents (c.yaml, c.yml)", "D": "cannot be the name"} {
		h := hosts[name]
		if h.ISO != "" || h.Initramfs != "" || len(h.Problems) != 1 || !strings.Contains(h.Problems[0].Message, want) {
			t.Errorf("%s: %+v", name, h)
		}
		if !strings.Contains(l.log.String(), want) {
			t.Errorf("%s: not in the log", name)
		}
	}
	l.documents(map[string]string{"a.yml": ovs, "b.yml": dhcp})
	if hosts := l.list(); hosts["a"].ISO != "" || hosts["b"].ISO == "" {
		t.Errorf("%v", hosts)
	}
}

func TestAVolumeOfASecretIsRead(t *testing.T) {
	l := newLab(t)
	// As the kubelet lays it out: links into a directory whose name begins with dots.
	data := filepath.Join(l.dir, "..2026_11_21")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(data, "a.yml"), []byte(dhcp))
	for from, to := range map[string]string{"..data": "..2026_11_21", "a.yml": "..data/a.yml", "dangling.yml": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(l.dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.server.Scan(); err != nil {
		t.Fatal(err)
	}
	if hosts := l.list(); hosts["a"].ISO == "" || len(hosts["dangling"].Problems) != 1 {
		t.Errorf("%v", hosts)
	}
}

func TestAFolderThatCannotBeReadLeavesEverythingAsItWas(t *testing.T) {
	l := newLab(t)
	l.documents(map[string]string{"a.yml": dhcp})
	url := l.list()["a"].ISO
	l.server.options.Hosts = os.DirFS(filepath.Join(l.dir, "none"))
	if err := l.server.Scan(); err == nil {
		t.Error("no error")
	}
	l.serves("the URL", url, "eth0")
}

func TestWithoutRandomnessThereAreNoURLs(t *testing.T) {
	l := newLab(t, func(o *Options) { o.Random = strings.NewReader("short") })
	write(t, filepath.Join(l.dir, "a.yml"), []byte(dhcp))
	if err := l.server.Scan(); err == nil || len(l.list()) != 0 {
		t.Errorf("%v, %v", err, l.list())
	}
}

func TestServersThatCouldNotServeAreNotMade(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/noise", make([]byte, 100_000))
	write(t, dir+"/empty", nil)
	for _, c := range []struct {
		why  string
		o    Options
		want string
	}{
		{"a short token", Options{Token: "x", Initramfs: dir + "/noise"}, "it must have 32"},
		{"no image", Options{Token: token}, "there is no base image"},
		{"a missing image", Options{Token: token, ISO: dir + "/none"}, "no such file"},
		{"an ISO that is none", Options{Token: token, ISO: dir + "/noise"}, "not an ISO 9660 image"},
		{"an empty initramfs", Options{Token: token, Initramfs: dir + "/empty"}, "not a file with content"},
		{"a directory", Options{Token: token, Initramfs: dir}, "not a file with content"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func TestABaseImageThatCarriesAConfigurationIsWarnedOf(t *testing.T) {
	l := newLab(t, func(o *Options) {
		image, err := os.ReadFile(o.ISO)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(image), strings.Repeat("\x00", 200_000)) + 100_000
		copy(image[at:], "an older configuration")
		write(t, o.ISO, image)
	})
	if !strings.Contains(l.log.String(), "contains a configuration") {
		t.Error(l.log.String())
	}
	l.documents(map[string]string{"a.yml": dhcp})
	if _, image := l.get("GET", l.list()["a"].ISO); strings.Contains(string(image), "an older configuration") {
		t.Error("it is still in the image")
	}
}

func TestRunServesOverTLSAndEnds(t *testing.T) {
	certificate, key, pool := keyPair(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hosts := fstest.MapFS{"a.yml": {Data: []byte(dhcp)}}
	dir := t.TempDir()
	write(t, dir+"/base", []byte("base"))
	s, err := New(Options{Initramfs: dir + "/base", Hosts: hosts, URL: "https://" + listener.Addr().String(), Token: token,
		Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, Serving{Listener: listener, Certificate: certificate, Key: key, Interval: time.Hour})
	}()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	res, err := client.Get("https://" + listener.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	res, err = client.Get(s.List()[0].Initramfs)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !strings.HasPrefix(string(body), "base\x1f\x8b") {
		t.Errorf("%q, %v", body, err)
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func keyPair(t *testing.T) (certificate, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = dir+"/tls.crt", dir+"/tls.key"
	write(t, certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate, key, pool
}
