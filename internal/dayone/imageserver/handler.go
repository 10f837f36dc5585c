package imageserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// stall is how long a client may not read from a response. Management controllers read slowly, and pause to write data.
const stall = 2 * time.Minute

// Listed is a host in the response to GET /hosts, {"hosts":[...]}, which is sorted by name.
type Listed struct {
	// Name is <namespace>/<name> if the document was offered.
	Name string `json:"name"`
	// ISO and Initramfs are the URLs of its images; empty if there is none of that form.
	ISO       string `json:"iso,omitempty"`
	Initramfs string `json:"initramfs,omitempty"`
	// Problems are the reasons why there is no image, and warnings.
	Problems nmstate.Problems `json:"problems,omitempty"`
}

// Handler serves:
//
//	GET /images/<secret>/<host>.iso, .initramfs   an image, or a part of one
//	GET /kernels/<digest>                         the kernel that belongs to the initramfs
//	GET /hosts                                    the list, for clients that send "Authorization: Bearer <token>"
//	GET /healthz                                  the health of the server
//	GET /metrics                                  metrics, without names or URLs
//
// HEAD is supported like GET; other methods are refused.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /images/{secret}/{file}", s.serveImage)
	mux.HandleFunc("GET /kernels/{digest}", s.serveKernel)
	mux.HandleFunc("GET /hosts", s.serveList)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// Both the URL and the content are secret.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) serveImage(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	extension := path.Ext(file)
	host := strings.TrimSuffix(file, extension)
	counted := &response{ResponseWriter: w, control: http.NewResponseController(w), now: s.options.Now}
	image := s.hosts.image(r.PathValue("secret"), host, extension)
	if image == nil {
		http.Error(counted, "there is no such image, or no longer: see the list of hosts for its URL", http.StatusNotFound)
		s.metrics.served(".none", counted)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	// The content of a URL never changes, so a digest of the path is a valid entity tag and does not reveal the secret.
	tag := sha256.Sum256([]byte("etag " + r.URL.Path))
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, tag[:16]))
	http.ServeContent(counted, r, "", time.Time{}, image.Reader())
	s.metrics.served(extension, counted)
	s.options.Log.Debug("image served", "host", host, "form", extension, "status", counted.status, "range", r.Header.Get("Range"),
		"bytes", counted.bytes, "client", r.RemoteAddr)
}

func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, got := sha256.Sum256([]byte(s.options.Token)), sha256.Sum256([]byte(given))
	if !ok || s.options.Token == "" || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="hosts"`)
		http.Error(w, "the list of hosts needs the token", http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"hosts": s.List()}); err != nil {
		s.options.Log.Debug("list not sent", "error", err)
	}
}

// List returns all hosts with their URLs, by name.
func (s *Server) List() []Listed {
	out := []Listed{}
	for _, e := range s.hosts.current() {
		out = append(out, Listed{Name: e.key, Problems: e.problems, ISO: s.url(e, ".iso"), Initramfs: s.url(e, ".initramfs")})
	}
	return out
}

// url returns the URL of an image of a host; empty if there is none with that extension.
func (s *Server) url(e *entry, extension string) string {
	if e.images[extension] == nil {
		return ""
	}
	return s.options.URL + "/images/" + e.secret + "/" + e.host + extension
}

// response counts the bytes of a response, and ends stalled connections.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	status  int
	bytes   int64
}

// WriteHeader records the status.
func (r *response) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write extends the write deadline for each part.
func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	// Connections of tests may not support deadlines.
	_ = r.control.SetWriteDeadline(r.now().Add(stall))
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}
