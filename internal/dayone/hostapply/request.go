package hostapply

import (
	"context"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Request asks for a document to be applied now, while the host is in use.
type Request struct {
	// SHA256 is of the content of the document that this host should have, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Attempt tells requests for the same document apart. A document that was rolled back is not applied again for the same one.
	Attempt int32 `json:"attempt"`
}

// rejected is a document that was rolled back after a request for it.
type rejected struct {
	Request
	Message string `json:"message"`
}

// rejects reports whether a document is not to be applied at boot: the host worked without it before.
func (s state) rejects(source Source) bool {
	return s.Rejected != nil && s.Rejected.SHA256 == source.SHA256
}

// reject remembers that a requested document was rolled back.
func (s *state) reject(j entry, why string) {
	if j.Request != nil {
		s.Rejected = &rejected{Request: *j.Request, Message: why + "; it was rolled back on request, and is not applied again before it changes or is requested with another attempt"}
	}
}

// Apply does one pass for a request. If the document is rolled back, Run does not apply it at later boots, until the document
// changes or is requested with another attempt: the host keeps what it had. The error is nil for Applied and Unchanged only.
func (e *Engine) Apply(ctx context.Context, r Request) (Report, error) {
	return e.conclude(e.pass(ctx, &r))
}

// requested returns an error if the host's document is not the one of a request, or was rolled back for the same request.
func requested(r Request, s state, source Source) (Result, error) {
	if source.Automatic || source.SHA256 != r.SHA256 {
		return Refused, fmt.Errorf("the requested document has the digest %s, and that of this host, %s, has %s", r.SHA256, source, source.SHA256)
	}
	if s.rejects(source) && s.Rejected.Attempt == r.Attempt {
		return RolledBack, errors.New(s.Rejected.Message)
	}
	return "", nil
}

// keep gives the host what it had before a document was rolled back: the document before that, or the automatic configuration. The
// report is still about the document that was rolled back, without an error when the host has a network.
func (e *Engine) keep(ctx context.Context, s state, live livestate.State, report Report) (Report, error) {
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
		kept, err := e.settle(ctx, s, live, entry{Source: before, Content: content, Rejected: rejected})
		if err != nil {
			return kept, err
		}
	}
	report.Result, report.Message, report.Attempt = RolledBack, rejected.Message, rejected.Attempt
	return report, nil
}
