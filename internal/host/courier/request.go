package courier

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
func (c *Courier) passRequest(report nodereport.Report) error {
	if c.Requests == "" {
		return nil
	}
	text, err := os.ReadFile(c.Requests)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read requests: %w", err)
	}
	requests, err := nodereport.DecodeRequests(text)
	if err != nil {
		return err
	}
	request, ok := requests[c.Node]
	if !ok || report.Answered(request) || !c.has(request) {
		return nil
	}
	content, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	if bytes.Equal(c.passed, content) && c.Now().Sub(c.passedAt) < c.RequestInterval {
		return nil
	}
	if err := durable.WriteFile(c.Request, content, fileMode); err != nil {
		return fmt.Errorf("pass the request to the host: %w", err)
	}
	c.passed, c.passedAt = content, c.Now()
	c.Log.Info("asked the host to apply its document", "file", request.File, "sha256", request.SHA256, "attempt", request.Attempt)
	return nil
}

// has reports whether the host has the document of a request.
func (c *Courier) has(r nodereport.Request) bool {
	if r.File != filepath.Base(r.File) {
		return false
	}
	content, err := os.ReadFile(filepath.Join(c.To, r.File))
	sum := sha256.Sum256(content)
	return err == nil && hex.EncodeToString(sum[:]) == r.SHA256
}
