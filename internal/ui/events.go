package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/ui/page"
)

const (
	// maxStreams is the maximum number of concurrent streams.
	maxStreams = 32
	// gather is how long changes are batched before a message is sent.
	gather = 200 * time.Millisecond
	// alive is the interval at which a page without changes is created again, since its state also depends on the time, and at which its stream
	// is written to, which detects closed connections.
	alive = 15 * time.Second
	// rest is how long a stream waits before it creates a document again, in relation to the time that it took: many changes of a large cluster
	// keep this computer, and the API server, busy for a fifth of the time.
	rest = 4
	// streamWrite is the timeout of one message.
	streamWrite = 10 * time.Second
)

// broadcast notifies any number of streams of changes. The zero value is ready to use.
type broadcast struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that is closed at the next change.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// forward forwards batched changes until the context ends.
func (b *broadcast) forward(ctx context.Context, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(gather):
			b.send()
		}
	}
}

// serveEvents streams one page: a message with the whole document, and then one for each change of it. The parameter page is that of
// Document, with a slash before the name of an object.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("more than %d pages are open: close some", maxStreams))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	out := stream{w: w, control: http.NewResponseController(w)}
	name, object, _ := strings.Cut(r.URL.Query().Get("page"), "/")
	tick := time.NewTicker(alive)
	defer tick.Stop()
	if name == way && s.options.Follow != nil {
		s.options.Follow(r.Context(), r.URL.Query().Get("from"), r.URL.Query().Get("to"))
	}
	for {
		// wait is called before the document is created, so that no change is missed.
		changed, began := s.changes.wait(), time.Now()
		doc, err := Document(r.Context(), s.options.Source, name, object, r.URL.Query())
		if err == nil {
			err = out.document(doc)
		} else {
			err = out.problem(err)
		}
		if err != nil {
			return // the browser has closed the connection
		}
		rested := time.After(rest * time.Since(began))
		if !out.again(r.Context(), changed, tick.C, name != way) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-rested:
		}
	}
}

// stream is a response with messages. It keeps the last document.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    []byte
	nodes   *page.Nodes
}

// document writes the changes since the last document, if there are any.
func (s *stream) document(doc any) error {
	if nodes, ok := doc.(page.Nodes); ok {
		before := s.nodes
		s.nodes = &nodes
		if before != nil {
			changes := nodes.Since(*before)
			if changes.Empty() {
				return nil
			}
			return s.message("changes", changes)
		}
	}
	return s.message("document", doc)
}

// again waits until the document has to be created again. It returns false if the browser has closed the connection. timed is false for a document
// that depends on objects only, not on the time.
func (s *stream) again(ctx context.Context, changed <-chan struct{}, tick <-chan time.Time, timed bool) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-changed:
			return true
		case <-tick:
			if s.write(":\n\n") != nil {
				return false
			}
			if timed {
				return true
			}
		}
	}
}

func (s *stream) problem(err error) error {
	s.nodes = nil
	return s.message("problem", map[string]string{"error": err.Error()})
}

func (s *stream) message(event string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text := slices.Concat([]byte("event: "+event+"\ndata: "), data, []byte("\n\n"))
	if bytes.Equal(text, s.last) {
		return nil
	}
	s.last = text
	return s.write(string(text))
}

func (s *stream) write(text string) error {
	// Servers in tests do not support deadlines.
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	_ = s.control.SetReadDeadline(time.Time{})
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
