package imageserver

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// kernel is the kernel for the initramfs. It is independent of hosts, and its URL is not secret.
type kernel struct {
	file *os.File
	size int64
	// digest is part of the URL, so that the content of a URL never changes.
	digest string
}

func (s *Server) openKernel() error {
	if s.options.Kernel == "" {
		return nil
	}
	f, size, err := s.open(s.options.Kernel)
	if err != nil {
		return err
	}
	sum, err := digestOf(io.NewSectionReader(f, 0, size))
	if err != nil {
		return fmt.Errorf("read kernel: %w", err)
	}
	s.kernel = &kernel{file: f, size: size, digest: fmt.Sprintf("%x", sum[:16])}
	return nil
}

// KernelURL returns the URL of the kernel; empty if there is none.
func (s *Server) KernelURL() string {
	if s.kernel == nil {
		return ""
	}
	return s.options.URL + "/kernels/" + s.kernel.digest
}

func (s *Server) serveKernel(w http.ResponseWriter, r *http.Request) {
	counted := &response{ResponseWriter: w, control: http.NewResponseController(w), now: s.options.Now}
	if s.kernel == nil || r.PathValue("digest") != s.kernel.digest {
		http.Error(counted, "there is no such kernel", http.StatusNotFound)
		s.metrics.served(".none", counted)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", `"`+s.kernel.digest+`"`)
	http.ServeContent(counted, r, "", time.Time{}, io.NewSectionReader(s.kernel.file, 0, s.kernel.size))
	s.metrics.served(".kernel", counted)
}
