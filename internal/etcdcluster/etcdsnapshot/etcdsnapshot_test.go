package etcdsnapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// stream is a Source with given bytes, after which it fails with an error.
type stream struct {
	content []byte
	err     error
}

func (s stream) Snapshot(context.Context) (io.ReadCloser, error) {
	if s.content == nil {
		return nil, s.err
	}
	r := io.Reader(bytes.NewReader(s.content))
	if s.err != nil {
		r = io.MultiReader(r, failing{s.err})
	}
	return io.NopCloser(r), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// database is what an etcd sends: a database and its checksum.
func database() []byte {
	content := bytes.Repeat([]byte("etcd"), 1024)
	sum := sha256.Sum256(content)
	return append(content, sum[:]...)
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestSnapshotIsReadableByItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), Directory)
	path, err := Take(t.Context(), stream{content: database()}, dir, noon)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != "snapshot-20260301T120000Z.db" {
		t.Errorf("it is %s", path)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v; %v", path, info.Mode(), want, err)
		}
	}
	if err := Verify(path); err != nil {
		t.Error(err)
	}
}

func TestIncompleteSnapshotIsNotKept(t *testing.T) {
	damaged := database()
	damaged[7] ^= 1
	for why, tt := range map[string]struct {
		from stream
		want string
	}{
		"no connection":                     {stream{err: errors.New("refused")}, "refused"},
		"the connection breaks":             {stream{content: database()[:1024], err: errors.New("reset")}, "reset"},
		"the stream ends early":             {stream{content: database()[:1000]}, "incomplete"},
		"the stream ends before the sum":    {stream{content: database()[:4096]}, "incomplete"},
		"nothing is sent":                   {stream{content: []byte{}}, "incomplete"},
		"a bit is not what the etcd has":    {stream{content: damaged}, "damaged"},
		"another database than that of sum": {stream{content: append(database()[512:], database()[:0]...)}, "damaged"},
	} {
		dir := t.TempDir()
		if _, err := Take(t.Context(), tt.from, dir, noon); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want one with %q", why, err, tt.want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %s is left", why, left[0].Name())
		}
	}
}

func TestTheNewestSnapshotsAreKept(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if _, err := Take(t.Context(), stream{content: database()}, dir, noon.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"snapshot-20260301T115959Z.db.part", "notes.txt", "snapshot-before-upgrade.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prune(dir, 2); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"notes.txt", "snapshot-20260301T150000Z.db", "snapshot-20260301T160000Z.db", "snapshot-before-upgrade.db"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files of others stay (-want +got):\n%s", diff)
	}
}

// formerMember makes the directory of a member that was written last at a time.
func formerMember(t *testing.T, data, name string, at time.Time) string {
	t.Helper()
	db := filepath.Join(data, name, "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(db, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path := db; path != data; path = filepath.Dir(path) {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestOnlyUnusedDirectoriesOfFormerMembersAreRemoved(t *testing.T) {
	data, old := t.TempDir(), noon.Add(-FormerAge)
	m := etcdcluster.Membership{Members: []etcdcluster.Member{{Name: "cp-0-00000001", Node: "cp-0"}}}
	formerMember(t, data, "cp-0-00000001", old)                                   // runs now
	formerMember(t, data, "cp-0-00000002", old)                                   // the one to remove
	formerMember(t, data, "cp-0-00000003", old.Add(time.Second))                  // not old enough
	used := formerMember(t, data, "cp-0-00000004", old)                           // an etcd uses it
	formerMember(t, data, "cp-0-b-00000005", old)                                 // of another node, whose name begins alike
	formerMember(t, data, "cp-0-backup00", old)                                   // of a person
	if err := os.Mkdir(filepath.Join(data, "cp-0-00000006"), 0o700); err != nil { // not one of etcd's
		t.Fatal(err)
	}
	recent := filepath.Join(formerMember(t, data, "cp-0-00000007", old), "..", "..", "wal")
	if err := os.WriteFile(recent, nil, 0o600); err != nil { // its log was written just now
		t.Fatal(err)
	}
	formerMember(t, data, "cp-0-00000001.replaced-20260101T000000Z", old) // set aside by a restore
	lock, err := os.Open(used)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	removed, err := RemoveFormer(data, "cp-0", m, noon)
	if diff := cmp.Diff([]string{"cp-0-00000001.replaced-20260101T000000Z", "cp-0-00000002"}, removed); err != nil || diff != "" {
		t.Errorf("removed, %v (-want +got):\n%s", err, diff)
	}
	if left, _ := os.ReadDir(data); len(left) != 7 {
		t.Errorf("%d directories are left", len(left))
	}
}

func TestSnapshotsAreTakenWhenDue(t *testing.T) {
	data := t.TempDir()
	members := filepath.Join(data, "members.json")
	k := Keeper{
		Data: data, Node: "cp-0", Members: members, Every: 6 * time.Hour, Keep: 2, Log: slog.New(slog.DiscardHandler),
		Connect: func() (Source, func(), error) { return stream{content: database()}, func() {}, nil },
	}
	if err := k.Step(t.Context(), noon); err == nil {
		t.Error("a record that cannot be read is no error, though it is not known which directories are in use")
	}
	if err := os.WriteFile(members, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {6*time.Hour - time.Second, 1}, {6 * time.Hour, 2}, {18 * time.Hour, 2}} {
		if err := k.Step(t.Context(), noon.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if names, err := List(k.directory()); err != nil || len(names) != tt.want {
			t.Errorf("after %s there are %v, %v", tt.after, names, err)
		}
	}
	if last, err := k.last(); err != nil || !last.Equal(noon.Add(18*time.Hour)) {
		t.Errorf("the last one is of %s, %v", last, err)
	}
	// The clock was wrong when the last one was taken.
	if err := k.Step(t.Context(), noon.Add(12*time.Hour)); err != nil {
		t.Fatal(err)
	}
}
