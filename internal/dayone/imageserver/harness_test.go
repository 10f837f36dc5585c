package imageserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/cpiotest"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/isotest"
	"github.com/cluster-network-operator/cno/internal/testing/logbuffer"
)

const (
	token = "0123456789abcdef0123456789abcdef"
	dhcp  = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n"
	fixed = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}]\n"
	ovs   = "interfaces: [{name: br-ex, type: ovs-bridge, state: up}]\n"
)

// lab is a server with a directory of documents, base images that were made for it, and a clock.
type lab struct {
	t         *testing.T
	dir       string
	iso       []byte
	initramfs []byte
	server    *Server
	web       *httptest.Server
	log       *logbuffer.Buffer

	mu  sync.Mutex
	now time.Time
}

func newLab(t *testing.T, change ...func(*Options)) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), log: &logbuffer.Buffer{}, now: time.Now(),
		iso: isotest.Image(isotest.CoreOS(100_000)), initramfs: isotest.Noise(50_001)}
	images := t.TempDir()
	o := Options{
		ISO: filepath.Join(images, "base.iso"), Initramfs: filepath.Join(images, "base.img"), Hosts: os.DirFS(l.dir),
		Token: token, Retain: time.Hour, Random: rand.Reader, Now: l.clock,
		Log: slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	write(t, o.ISO, l.iso)
	write(t, o.Initramfs, l.initramfs)
	l.web = httptest.NewUnstartedServer(nil)
	o.URL = "http://" + l.web.Listener.Addr().String()
	for _, c := range change {
		c(&o)
	}
	server, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.server = server
	l.web.Config.Handler = server.Handler()
	l.web.Start()
	t.Cleanup(func() {
		l.web.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *lab) pass(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

// documents sets what is in the directory, and scans it.
func (l *lab) documents(files map[string]string) {
	l.t.Helper()
	old, _ := filepath.Glob(l.dir + "/*")
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			l.t.Fatal(err)
		}
	}
	for name, content := range files {
		write(l.t, filepath.Join(l.dir, name), []byte(content))
	}
	if err := l.server.Scan(); err != nil {
		l.t.Fatal(err)
	}
}

// get asks for a URL, with headers as pairs.
func (l *lab) get(method, url string, headers ...string) (*http.Response, []byte) {
	l.t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return res, body
}

// list asks for the hosts, by name.
func (l *lab) list() map[string]Listed {
	l.t.Helper()
	res, body := l.get("GET", l.web.URL+"/hosts", "Authorization", "Bearer "+token)
	if res.StatusCode != http.StatusOK {
		l.t.Fatal(res.Status, string(body))
	}
	var answer struct{ Hosts []Listed }
	if err := json.Unmarshal(body, &answer); err != nil {
		l.t.Fatal(err)
	}
	out := map[string]Listed{}
	for _, h := range answer.Hosts {
		out[h.Name] = h
	}
	return out
}

// ignition returns the configuration that an image carries, and the names of all files beside it.
func (l *lab) ignition(image []byte) (string, []string) {
	l.t.Helper()
	var payload []byte
	if len(image) == len(l.iso) {
		area, err := bootimage.FindArea(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			l.t.Fatal(err)
		}
		payload = image[area.Offset : area.Offset+area.Length]
	} else {
		payload = image[(len(l.initramfs)+3)/4*4:]
	}
	files, err := cpiotest.Unpack(payload)
	if err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return string(files[0].Content), names
}

func (l *lab) gone(why, url string) {
	l.t.Helper()
	if res, _ := l.get("GET", url); res.StatusCode != http.StatusNotFound {
		l.t.Errorf("%s: %s", why, res.Status)
	}
}

func (l *lab) serves(why, url, want string) {
	l.t.Helper()
	res, body := l.get("GET", url)
	if res.StatusCode != http.StatusOK {
		l.t.Errorf("%s: %s", why, res.Status)
		return
	}
	if config, _ := l.ignition(body); !strings.Contains(config, want) {
		l.t.Errorf("%s: %q is not in %s", why, want, config)
	}
}
