package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// TestRulesAreKeptIfTheNodeCannotBeRead: kube-proxy would remove them before it finds that out.
func TestRulesAreKeptIfTheNodeCannotBeRead(t *testing.T) {
	for _, tc := range []struct {
		why  string
		code int
		body string
		want string // in the error; empty is none
	}{
		{"the API server answers", http.StatusOK, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`, ""},
		{"there is no such Node", http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"nodes a not found"}`, "nodes a not found"},
		{"the service account may not read it", http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"forbidden"}`, "forbidden"},
		{"the API server is unreachable", 0, "", "connect"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/nodes/a" {
					t.Errorf("%s was read", r.URL.Path)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			if tc.code == 0 {
				server.Close()
			}
			err := readNode(t.Context(), &rest.Config{Host: server.URL}, "a")
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "rules of the node stay")):
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}
