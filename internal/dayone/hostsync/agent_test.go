package hostsync

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

// box collects reports.
type box struct {
	reports []nodereport.Report
	err     error
}

func (b *box) Publish(_ context.Context, r nodereport.Report) error {
	if b.err != nil {
		return b.err
	}
	b.reports = append(b.reports, r)
	return nil
}

type node struct {
	*Agent
	box *box
	now time.Time
	t   *testing.T
}

func newNode(t *testing.T) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{box: &box{}, now: time.Unix(1e9, 0), t: t}
	n.Agent = &Agent{
		Node: "w-0", From: filepath.Join(dir, "from"), To: filepath.Join(dir, "host", "etc"), Report: filepath.Join(dir, "report.json"), Interval: time.Second,
		PublishInterval: time.Minute, Publisher: n.box, Now: func() time.Time { return n.now }, Log: slog.New(slog.DiscardHandler),
	}
	return n
}

func (n *node) files(contents map[string]string) {
	n.t.Helper()
	if err := os.RemoveAll(n.From); err != nil {
		n.t.Fatal(err)
	}
	for name, content := range contents {
		n.write(filepath.Join(n.From, name), content)
	}
}

func (n *node) write(path, content string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) once() {
	n.t.Helper()
	if err := n.Once(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

// onHost returns what is in the directory on the host but hidden files.
func (n *node) onHost() map[string]string {
	n.t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(n.To, "[^.]*"))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			n.t.Fatal(err)
		}
		found[filepath.Base(path)] = string(content)
	}
	return found
}

func TestFilesAreAddedChangedAndRemoved(t *testing.T) {
	n := newNode(t)
	n.write(filepath.Join(n.To, "someone.yml"), "theirs")
	n.write(filepath.Join(n.To, "applied"), "a marker")
	for _, row := range []struct {
		why         string
		files, want map[string]string
	}{
		{"files come", map[string]string{"cluster.yml": "1", "w-0.yml": "2"}, map[string]string{"cluster.yml": "1", "w-0.yml": "2"}},
		{"one changes, one is removed", map[string]string{"cluster.yml": "3"}, map[string]string{"cluster.yml": "3"}},
		{"all go", map[string]string{}, map[string]string{}},
		{"they come again", map[string]string{"w-0.yml": "4"}, map[string]string{"w-0.yml": "4"}},
	} {
		n.files(row.files)
		n.once()
		row.want["someone.yml"], row.want["applied"] = "theirs", "a marker"
		if diff := cmp.Diff(row.want, n.onHost()); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

func TestOnlyCopiedFilesAreRemoved(t *testing.T) {
	n := newNode(t)
	n.write(filepath.Join(n.To, "someone.yml"), "theirs")
	n.files(map[string]string{"cluster.yml": "1", "w-0.yml": "2"})
	n.once()
	withdrawing := *n.Agent
	withdrawing.From, withdrawing.Withdraw = "", true
	n.Agent = &withdrawing
	n.once()
	if diff := cmp.Diff(map[string]string{"someone.yml": "theirs"}, n.onHost()); diff != "" {
		t.Error(diff)
	}
	if r := n.box.reports; len(r) != 2 || r[0].Withdrawn || !r[1].Withdrawn {
		t.Errorf("reports are %+v", r)
	}
	n.write(filepath.Join(n.To, copiedFile), `["../precious"]`)
	if err := n.Once(t.Context()); err == nil || n.box.reports[2].Withdrawn {
		t.Errorf("what could not be removed counts as withdrawn: %v, %+v", err, n.box.reports[2])
	}
}

// The kubelet shows files of ConfigMaps as links into a directory that it replaces.
func TestFilesOfVolumesAreFiles(t *testing.T) {
	n := newNode(t)
	n.write(filepath.Join(n.From, "..2026", "a.yml"), "1")
	for link, to := range map[string]string{"..data": "..2026", "a.yml": "..data/a.yml"} {
		if err := os.Symlink(to, filepath.Join(n.From, link)); err != nil {
			t.Fatal(err)
		}
	}
	n.once()
	if diff := cmp.Diff(map[string]string{"a.yml": "1"}, n.onHost()); diff != "" {
		t.Error(diff)
	}
}

func TestRestartedAgentRemembersItsFiles(t *testing.T) {
	n := newNode(t)
	n.files(map[string]string{"a.yml": "1", "b.yml": "2"})
	n.once()
	// It is killed after it has written the list, and before it copies the files.
	if err := n.saveCopied([]string{"a.yml", "b.yml", "c.yml"}); err != nil {
		t.Fatal(err)
	}
	again := *n.Agent
	n.Agent = &again
	n.files(map[string]string{"b.yml": "2"})
	n.once()
	if diff := cmp.Diff(map[string]string{"b.yml": "2"}, n.onHost()); diff != "" {
		t.Error(diff)
	}
}

func TestTheListOfAnEarlierVersionIsRead(t *testing.T) {
	n := newNode(t)
	n.write(filepath.Join(n.To, "a.yml"), "1")
	n.write(filepath.Join(n.To, formerCopiedFile), `["a.yml"]`)
	n.files(map[string]string{"b.yml": "2"})
	n.once()
	if diff := cmp.Diff(map[string]string{"b.yml": "2"}, n.onHost()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(n.To, formerCopiedFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former list is still on the host: %v", err)
	}
}

func TestListWithForeignPathsRemovesNothing(t *testing.T) {
	n := newNode(t)
	n.write(filepath.Join(n.To, "..", "precious"), "x")
	n.write(filepath.Join(n.To, copiedFile), `["../precious"]`)
	n.files(nil)
	if err := n.Once(t.Context()); err == nil {
		t.Error("the list was believed")
	}
	if _, err := os.Stat(filepath.Join(n.To, "..", "precious")); err != nil {
		t.Error(err)
	}
	if r := n.box.reports; len(r) != 1 || r[0].Delivery == "" {
		t.Errorf("errors are not reported: %+v", r)
	}
}

func TestReportsAreSentOnChangeAndPeriodically(t *testing.T) {
	n := newNode(t)
	n.From = ""
	n.once()
	n.once()
	if diff := cmp.Diff([]nodereport.Report{{Node: "w-0"}}, n.box.reports); diff != "" {
		t.Fatal(diff)
	}
	n.write(n.Report, `{"result": "rolled-back", "time": "2026-01-02T03:04:05Z", "message": "no answer", "source": {"file": "w-0.yml", "sha256": "ab", "why": "x"}, "differences": []}`)
	n.once()
	want := nodereport.Report{Node: "w-0", Result: "rolled-back", File: "w-0.yml", SHA256: "ab", Message: "no answer", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if diff := cmp.Diff(want, n.box.reports[1]); diff != "" {
		t.Error(diff)
	}
	n.now = n.now.Add(2 * time.Minute)
	n.once()
	if len(n.box.reports) != 3 {
		t.Errorf("sent %d times", len(n.box.reports))
	}
	n.box.err = errors.New("no API server")
	n.write(n.Report, `{"result": "applied", "source": {"automatic": true, "sha256": "cd"}}`)
	if err := n.Once(t.Context()); err == nil {
		t.Error("that it could not be sent is not an error")
	}
	n.box.err = nil
	n.once()
	if r := n.box.reports[len(n.box.reports)-1]; r.Result != "applied" || r.SHA256 != "" {
		t.Errorf("what could not be sent is lost, or an automatic network has a file: %+v", r)
	}
}
