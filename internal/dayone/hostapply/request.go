package hostapply

import (
	"context"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Request is a request to apply a document now, while the host is in use.
type Request struct {
	// SHA256 is the digest of the desired document's content, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Attempt distinguishes requests for the same document. A document that was rolled back is not applied again for the same attempt.
	Attempt int32 `json:"attempt"`
}

// rejected is a document that was rolled back after a request for it.
type rejected struct {
	Request
	Message string `json:"message"`
}

// rejects reports whether a document must not be applied at boot, because it was rolled back.
func (s state) rejects(source Source) bool {
	return s.Rejected != nil && s.Rejected.SHA256 == source.SHA256
}

// reject records that a requested document was rolled back.
func (s *state) reject(j entry, why string) {
	if j.Request != nil {
		s.Rejected = &rejected{Request: *j.Request, Message: why + "; it was rolled back on request, and is not applied again before it changes or is requested with another attempt"}
	}
}

// Apply applies the host's document for a request. If the document is rolled back, Run does not apply it at later boots until it changes or is requested with
// another attempt. The error is nil only for Applied and Unchanged.
func (e *Engine) Apply(ctx context.Context, r Request) (Report, error) {
	return e.finishReport(e.reconcile(ctx, &r))
}

// requested returns an error if the host's document is not that of a request, or was rolled back for the same request.
func requested(r Request, s state, source Source) (Result, error) {
	if source.Automatic || source.SHA256 != r.SHA256 {
		return Refused, fmt.Errorf("the requested document has the digest %s, and that of this host, %s, has %s", r.SHA256, source, source.SHA256)
	}
	if s.rejects(source) && s.Rejected.Attempt == r.Attempt {
		return RolledBack, errors.New(s.Rejected.Message)
	}
	return "", nil
}

// restorePrevious applies the configuration before a document that was rolled back: the previous document, or the automatic configuration. The report remains
// that of the document that was rolled back, without an error if the configuration is applied.
func (e *Engine) restorePrevious(ctx context.Context, s state, live livestate.State, report Report) (Report, error) {
	before, content := Source{}, []byte(nil)
	var err error
	if s.Applied != nil && !s.Applied.Source.Automatic {
		before = s.Applied.Source
	} else if before, content, err = e.automatic(ctx, "its document was rolled back", live); err != nil {
		return report, err
	}
	e.Log.Warn("the document was rolled back when it was applied on request; the host keeps its earlier configuration", "document", report.Source.String(), "keeps", before.String())
	rejected := s.Rejected
	if before.SHA256 != "" {
		kept, err := e.applyDocument(ctx, s, live, entry{Source: before, Content: content, Rejected: rejected})
		if err != nil {
			return kept, err
		}
	}
	report.Result, report.Message, report.Attempt = RolledBack, rejected.Message, rejected.Attempt
	return report, nil
}
