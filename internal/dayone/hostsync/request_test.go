package hostsync

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// asks gives a node the ConfigMap of requests.
func (n *node) asks(r nodereport.Requests) {
	n.t.Helper()
	data, err := r.Encode()
	if err != nil {
		n.t.Fatal(err)
	}
	n.write(n.Requests, data[nodereport.RequestsKey])
}

// passedOn returns the request that the host has got, and takes it; ok is false if there is none.
func (n *node) passedOn() (r nodereport.Request, ok bool) {
	n.t.Helper()
	data, err := os.ReadFile(n.Request)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(data, &r), os.Remove(n.Request))
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return r, true
}

func TestRequestIsCopiedToTheHostAfterTheDocument(t *testing.T) {
	n := newNode(t)
	n.Requests, n.Request, n.RequestInterval = filepath.Join(t.TempDir(), "requests.json"), filepath.Join(t.TempDir(), "request.json"), time.Minute
	want := nodereport.Request{File: "w-0.yml", SHA256: digestOf("new"), Attempt: 2}
	n.files(map[string]string{"w-0.yml": "old"})
	n.once()
	for _, row := range []struct {
		why      string
		requests nodereport.Requests
		content  string
		after    time.Duration
		report   string
		passed   bool
	}{
		{why: "there are no requests", content: "old"},
		{why: "another node is asked", requests: nodereport.Requests{"w-1": want}, content: "new"},
		{why: "the host has an older document", requests: nodereport.Requests{"w-0": want}, content: "old"},
		{why: "the document has come", requests: nodereport.Requests{"w-0": want}, content: "new", passed: true},
		{why: "it is with the host", requests: nodereport.Requests{"w-0": want}, content: "new", after: 30 * time.Second},
		{why: "the host may have missed it", requests: nodereport.Requests{"w-0": want}, content: "new", after: time.Minute, passed: true},
		{why: "the host answered another attempt", requests: nodereport.Requests{"w-0": want}, content: "new", after: time.Minute, passed: true,
			report: `{"result":"rolled-back","source":{"file":"w-0.yml","sha256":"` + digestOf("new") + `"},"attempt":1}`},
		{why: "the host rolled back", requests: nodereport.Requests{"w-0": want}, content: "new", after: time.Hour,
			report: `{"result":"rolled-back","source":{"file":"w-0.yml","sha256":"` + digestOf("new") + `"},"attempt":2}`},
		{why: "the host has it since a boot", requests: nodereport.Requests{"w-0": want}, content: "new", after: time.Hour,
			report: `{"result":"applied","source":{"file":"w-0.yml","sha256":"` + digestOf("new") + `"}}`},
		{why: "a name that leads out of the directory", requests: nodereport.Requests{"w-0": {File: "../w-0.yml", SHA256: digestOf("new")}}, content: "new", after: time.Hour},
	} {
		n.asks(row.requests)
		n.files(map[string]string{"w-0.yml": row.content})
		n.now = n.now.Add(row.after)
		if row.report != "" {
			n.write(n.Report, row.report)
		}
		n.once()
		if got, ok := n.passedOn(); ok != row.passed || ok && got != want {
			t.Errorf("%s: the host has got %+v, %v", row.why, got, ok)
		}
	}
}

func TestRequestsThatCannotBeReadAreReported(t *testing.T) {
	n := newNode(t)
	n.Requests, n.Request = filepath.Join(t.TempDir(), "requests.json"), filepath.Join(t.TempDir(), "request.json")
	n.files(nil)
	n.write(n.Requests, "{")
	if err := n.Once(t.Context()); err == nil || len(n.box.reports) == 0 || n.box.reports[0].Delivery == "" {
		t.Errorf("%v, reports %+v", err, n.box.reports)
	}
}
