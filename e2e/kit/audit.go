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

func (w window) holds(at time.Time) bool { return !at.Before(w.start) && !at.After(w.end) }

// event is what is read of a line of the API server's audit log.
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

// Forbidden returns, each once, the requests of the operator and of what it deploys that the first API server has
// refused since a moment for lack of rights, but for those that are excused.
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
		// A namespace that is being deleted takes nothing from any client.
		if strings.HasSuffix(e.ResponseStatus.Message, "because it is being terminated") {
			continue
		}
		forgiven := slices.ContainsFunc(k.excused, func(w window) bool { return w.holds(e.StageTimestamp) })
		text := fmt.Sprintf("%s: %s %s", e.User.Username, e.Verb, e.RequestURI)
		if ours(e.User.Username) && e.StageTimestamp.After(since) && !forgiven && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found, lines.Err()
}

// Excuse lets the API server refuse what it likes for the time of a test.
func (k *Kit) Excuse(t testing.TB) {
	w := window{start: time.Now()}
	t.Cleanup(func() {
		w.end = time.Now()
		k.excused = append(k.excused, w)
	})
}

// ours reports whether a user is a service account of a namespace as the operator names its own and those of its operands.
func ours(user string) bool { return strings.HasPrefix(user, "system:serviceaccount:openshift-") }
