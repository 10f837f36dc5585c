package kit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// window is a span of time.
type window struct{ start, end time.Time }

func (w window) contains(at time.Time) bool { return !at.Before(w.start) && !at.After(w.end) }

// event has the fields of a line of the API server's audit log that this package reads.
type event struct {
	Verb           string
	RequestURI     string
	StageTimestamp time.Time
	User           struct{ Username string }
	ResponseStatus struct {
		Code    int
		Message string
	}
}

// Forbidden returns the requests of the operator and of its operands that the first API server has refused since a point in time
// because permissions were missing. It reports each request once, and omits those within the windows of Excuse.
func (k *Kit) Forbidden(since time.Time) ([]string, error) {
	f, err := os.Open(filepath.Join(k.layout().NodeLogs("cp-0"), "audit.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var found []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), `"code":403`) {
			continue
		}
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		// In a namespace that is being deleted, no client can create objects.
		if strings.HasSuffix(e.ResponseStatus.Message, "because it is being terminated") {
			continue
		}
		excused := slices.ContainsFunc(k.excused, func(w window) bool { return w.contains(e.StageTimestamp) })
		text := fmt.Sprintf("%s: %s %s", e.User.Username, e.Verb, e.RequestURI)
		if isOperand(e.User.Username) && e.StageTimestamp.After(since) && !excused && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found, lines.Err()
}

// Excuse excludes requests that are refused during the test from Forbidden.
func (k *Kit) Excuse(t testing.TB) {
	w := window{start: time.Now()}
	t.Cleanup(func() {
		w.end = time.Now()
		k.excused = append(k.excused, w)
	})
}

// isOperand reports whether a user is a service account of a namespace of the operator or of its operands.
func isOperand(user string) bool { return strings.HasPrefix(user, "system:serviceaccount:openshift-") }
