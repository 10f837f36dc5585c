package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
)

// Fault is what happens to one call. None is that nothing does.
type Fault int

// The faults of a call.
const (
	None Fault = iota
	// Error is the answer 500 in place of what was asked for.
	Error
	// Conflict is the answer 409 in place of what was asked for.
	Conflict
	// Gone is the answer 410: what was asked for is too old.
	Gone
	// Busy is the answer 429, which asks to come again after a second.
	Busy
	// Reset is a connection that breaks before the call arrives.
	Reset
	// Lost is a call that is carried out, and whose answer does not arrive in time.
	Lost
	// Hang is a call that is never answered.
	Hang
	// Dead is a call that is not made, since who would make it is dead.
	Dead
	// Last is a call that is carried out, and whose answer no one waits for any more.
	Last
	// Refused is a connection that no one accepts, since there is no server.
	Refused
)

func (f Fault) String() string {
	return [...]string{"none", "error 500", "conflict 409", "gone 410", "busy 429", "connection reset", "answer lost", "hangs", "dead", "dead after it", "connection refused"}[f]
}

// apply makes a call with its fault.
func (f Fault) apply(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	switch f {
	case Error:
		return answer(r, http.StatusInternalServerError, "InternalError"), drain(r)
	case Conflict:
		return answer(r, http.StatusConflict, "Conflict"), drain(r)
	case Gone:
		return answer(r, http.StatusGone, "Expired"), drain(r)
	case Busy:
		response := answer(r, http.StatusTooManyRequests, "TooManyRequests")
		response.Header.Set("Retry-After", "1")
		return response, drain(r)
	case Reset:
		return nil, syscall.ECONNRESET
	case Refused:
		return nil, syscall.ECONNREFUSED
	case Dead:
		return nil, ErrDead
	case Hang:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case Lost, Last:
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close() // no one reads it
		if f == Last {
			return nil, ErrDead
		}
		return nil, os.ErrDeadlineExceeded
	}
	return next.RoundTrip(r)
}

func drain(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// answer makes an answer as the API server would give it.
func answer(r *http.Request, code int, reason string) *http.Response {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"injected: %s"}`, reason, code, reason)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(text))), ContentLength: int64(len(text)),
	}
}

// stream is an answer that the line can end.
type stream struct {
	io.ReadCloser
	end func()
}

// Close ends the answer.
func (s *stream) Close() error {
	defer s.end()
	return s.ReadCloser.Close()
}

// EachOnce has each different call fail the first time that it is made, and go through from then on.
func EachOnce(f Fault) Plan {
	seen := map[string]bool{}
	return func(c Call) Fault {
		if seen[c.Name()] {
			return None
		}
		seen[c.Name()] = true
		return f
	}
}

// DeadAfter has a process die after its k-th write. After 0, it does not even make its first.
func DeadAfter(k int) Plan {
	writes := 0
	return func(c Call) Fault {
		if c.Write > 0 {
			writes++
		}
		switch {
		case writes > k:
			return Dead
		case k > 0 && writes == k && c.Write > 0:
			return Last
		case k > 0 && writes == k:
			return Dead
		}
		return None
	}
}
