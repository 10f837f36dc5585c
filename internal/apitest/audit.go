package apitest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// auditPolicy has one event for each request, when its answer is complete (for a watch: when it begins).
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// Request is one request that the server answered.
type Request struct {
	// Verb is that of RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string `json:"verb"`
	// URI is the path with its query.
	URI string `json:"requestURI"`
	// UserAgent is the name that the client sends. Tests distinguish their clients by it.
	UserAgent string `json:"userAgent"`
	// User is who the server took the client for.
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	// Time is when the request came in.
	Time time.Time `json:"requestReceivedTimestamp"`
	// Response is the answer; its code is that of HTTP.
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// Stage is ResponseComplete, or ResponseStarted for a watch that still runs.
	Stage string `json:"stage"`
	// ID is the same for the two events of a watch.
	ID string `json:"auditID"`
}

// Writes reports whether the request could change something.
func (r Request) Writes() bool {
	return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
}

func (s *Server) auditFile() string { return filepath.Join(s.dir, "audit.log") }

func (s *Server) configureAudit(apiserver *envtest.APIServer) error {
	policy := filepath.Join(s.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write audit policy: %w", err)
	}
	apiserver.Configure().
		Set("audit-policy-file", policy).
		Set("audit-log-path", s.auditFile()).
		// In this mode an event is written before the client has its answer, so that a test that has the
		// answer finds the event.
		Set("audit-log-mode", "blocking")
	return nil
}

// Requests returns every request so far in the order in which they came in, a watch once. The server must
// have been started with Options.Audit. Requests of the server to itself are left out.
func (s *Server) Requests(tb testing.TB) []Request {
	tb.Helper()
	file, err := os.Open(s.auditFile())
	if err != nil {
		tb.Fatalf("read audit log (was the server started with Audit?): %v", err)
	}
	defer file.Close()
	var requests []Request
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var request Request
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			tb.Fatalf("decode audit event: %v", err)
		}
		if !seen[request.ID] && request.User.Username != "system:apiserver" {
			seen[request.ID] = true
			requests = append(requests, request)
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("read audit log: %v", err)
	}
	return requests
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }

// logTail returns the end of what the two programs have printed.
func (s *Server) logTail() string {
	const most = 20
	content, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
