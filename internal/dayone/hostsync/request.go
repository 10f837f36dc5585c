package hostsync

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// passRequest writes this node's unanswered request, if there is one, to the file that a systemd path unit on the host watches. It waits until the host has
// the document, and repeats after RequestInterval in case the unit missed the file. The service on the host applies a repeated request only once.
func (a *Agent) passRequest(report nodereport.Report) error {
	if a.Requests == "" {
		return nil
	}
	text, err := os.ReadFile(a.Requests)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read requests: %w", err)
	}
	requests, err := nodereport.DecodeRequests(text)
	if err != nil {
		return err
	}
	request, ok := requests[a.Node]
	if !ok || report.Answered(request) || !a.has(request) {
		return nil
	}
	content, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	if bytes.Equal(a.passed, content) && a.Now().Sub(a.passedAt) < a.RequestInterval {
		return nil
	}
	if err := durable.WriteFile(a.Request, content, fileMode); err != nil {
		return fmt.Errorf("pass the request to the host: %w", err)
	}
	a.passed, a.passedAt = content, a.Now()
	a.Log.Info("asked the host to apply its document", "file", request.File, "sha256", request.SHA256, "attempt", request.Attempt)
	return nil
}

// has reports whether the host has the document of a request.
func (a *Agent) has(r nodereport.Request) bool {
	if r.File != filepath.Base(r.File) {
		return false
	}
	content, err := os.ReadFile(filepath.Join(a.To, r.File))
	sum := sha256.Sum256(content)
	return err == nil && hex.EncodeToString(sum[:]) == r.SHA256
}
