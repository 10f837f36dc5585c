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

// stall is how long a client may take nothing of what is sent to it. Management controllers read slowly, and stop to
// write what they have read.
const stall = 2 * time.Minute

// Listed is a host in the list that GET /hosts answers with, as {"hosts":[...]}, by name.
type Listed struct {
	Name string `json:"name"`
	// ISO and Initramfs are the URLs of its images; empty if there is none of that form.
	ISO       string `json:"iso,omitempty"`
	Initramfs string `json:"initramfs,omitempty"`
	// Problems say why there is no image, or warn.
	Problems nmstate.Problems `json:"problems,omitempty"`
}

// Handler answers:
//
//	GET /images/<secret>/<host>.iso, .initramfs   an image, or a part of one
//	GET /hosts                                    the list, for those who send "Authorization: Bearer <token>"
//	GET /healthz                                  that the program works
//	GET /metrics                                  figures, without names or URLs
//
// HEAD is answered like GET, and every other method refused.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /images/{secret}/{file}", s.serveImage)
	mux.HandleFunc("GET /hosts", s.serveList)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// A URL is a secret, and its content another.
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
	// What is at a URL never changes, so that its secret says which version it is. A digest of it gives nothing away.
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
	if !ok || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
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
		l := Listed{Name: e.host, Problems: e.problems}
		for extension, to := range map[string]*string{".iso": &l.ISO, ".initramfs": &l.Initramfs} {
			if e.images[extension] != nil {
				*to = s.options.URL + "/images/" + e.secret + "/" + e.host + extension
			}
		}
		out = append(out, l)
	}
	return out
}

// response counts what is sent, and ends a client that takes nothing.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	status  int
	bytes   int64
}

// WriteHeader notes the status.
func (r *response) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write gives the client some more time for each part.
func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	// Connections of tests may have no deadlines; then there is none.
	_ = r.control.SetWriteDeadline(r.now().Add(stall))
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}
