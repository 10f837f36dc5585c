package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// TestASnapshotIsPrintedOnOneNodeAndRestoredOnAnother uses the commands that an administrator runs in the pods, with the variables of the pods.
func TestASnapshotIsPrintedOnOneNodeAndRestoredOnAnother(t *testing.T) {
	content := emptyDatabase(t)
	sum := sha256.Sum256(content)
	content = append(content, sum[:]...)
	data := t.TempDir()
	members := filepath.Join(data, "members.json")
	for path, text := range map[string]string{
		filepath.Join(data, "snapshots", "snapshot-20260301T120000Z.db"): string(content),
		filepath.Join(data, "snapshots", "snapshot-20260301T180000Z.db"): string(content[1:]),
		members: `{"token":"t","members":[{"name":"a-t","node":"a","address":"192.0.2.1","peerURL":"https://192.0.2.1:2380","state":"existing"}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(etcdcluster.EnvNode, "a")
	t.Setenv(etcdcluster.EnvData, data)
	t.Setenv(etcdcluster.EnvMembers, members)
	run := func(in []byte, args ...string) (string, error) {
		var out bytes.Buffer
		cmd := etcdSnapshots()
		cmd.SetArgs(args)
		cmd.SetIn(bytes.NewReader(in))
		cmd.SetOut(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(context.Background())
		return out.String(), err
	}
	names, err := run(nil, "list")
	if want := "snapshot-20260301T120000Z.db\nsnapshot-20260301T180000Z.db\n"; err != nil || names != want {
		t.Errorf("list prints %q, %v", names, err)
	}
	if _, err := run(nil, "print", "snapshot-20260301T180000Z.db"); err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("a damaged snapshot is printed: %v", err)
	}
	printed, err := run(nil, "print", "snapshot-20260301T120000Z.db")
	if err != nil || printed != string(content) {
		t.Fatalf("print gives %d bytes, %v", len(printed), err)
	}
	if out, err := run([]byte(printed), "restore"); err != nil || out != "restored the member on node a\n" {
		t.Errorf("restore prints %q, %v", out, err)
	}
	left, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == "a-t" }) || len(left) != 3 {
		t.Errorf("the directory has %v", left)
	}
	if _, err := run(nil); err == nil || !strings.Contains(err.Error(), "--endpoint") {
		t.Errorf("without an endpoint: %v", err)
	}
}

// emptyDatabase is the database of an etcd without keys.
func emptyDatabase(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db := backend.NewDefaultBackend(zap.NewNop(), path)
	tx := db.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range schema.AllBuckets {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.Unlock()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
