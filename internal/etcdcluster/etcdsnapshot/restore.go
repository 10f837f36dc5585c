package etcdsnapshot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	etcd "go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// revisionBump is how far the revisions of a restored etcd start above those of the snapshot. Earlier revisions count as compacted, so that clients that have
// seen later ones than the snapshot read everything again.
const revisionBump = 1_000_000_000

// Restore creates the data of the member on a node from a snapshot. All members of the record must be restored from the same snapshot before any of them is
// started; they then form one cluster. data is the parent of the members' data directories. Restore renames the existing directory of the member and
// returns its new name; empty if there was none. It creates the new directory atomically.
func Restore(m etcdcluster.Membership, node, snapshot, data string, now time.Time) (former string, err error) {
	if err := Verify(snapshot); err != nil {
		return "", err
	}
	member, all, err := membersOf(m, node)
	if err != nil {
		return "", err
	}
	target := filepath.Join(data, member.Name)
	unfinished := target + partSuffix
	if err := os.RemoveAll(unfinished); err != nil {
		return "", fmt.Errorf("remove the data of an earlier attempt: %w", err)
	}
	if err := restore(etcd.RestoreConfig{
		SnapshotPath: snapshot, OutputDataDir: unfinished, Name: member.Name, PeerURLs: []string{member.PeerURL},
		InitialCluster: all, InitialClusterToken: m.Token, RevisionBump: revisionBump, MarkCompacted: true,
	}); err != nil {
		return "", errors.Join(fmt.Errorf("restore member %s: %w", member.Name, err), os.RemoveAll(unfinished))
	}
	if former, err = setAside(target, now); err != nil {
		return "", errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := durable.Rename(unfinished, target); err != nil {
		return former, fmt.Errorf("restore member %s: %w", member.Name, err)
	}
	return former, nil
}

// restore creates a data directory. etcd's library logs why it cannot use a database and panics with a message, which restore returns as an error. If it
// cannot write, it logs the error and ends the program.
func restore(config etcd.RestoreConfig) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case string:
			err = errors.New(r)
		default:
			panic(r)
		}
	}()
	log := zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "message"}), zapcore.Lock(os.Stderr), zap.PanicLevel))
	return etcd.NewV3(log).Restore(config)
}

// setAside renames the directory of a member; it fails if an etcd uses it.
func setAside(target string, now time.Time) (former string, err error) {
	if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	release, used, err := lock(target)
	if err != nil {
		return "", err
	}
	defer release()
	if used {
		return "", fmt.Errorf("an etcd uses %s; stop the members of all nodes first, and start them when all are restored", target)
	}
	former = target + ".replaced-" + now.UTC().Format(layout)
	if err := durable.Rename(target, former); err != nil {
		return "", fmt.Errorf("rename the former data: %w", err)
	}
	return former, nil
}

// membersOf returns the member on a node, and the value of etcd's option initial-cluster.
func membersOf(m etcdcluster.Membership, node string) (own etcdcluster.Member, all string, err error) {
	var nodes, list []string
	for _, member := range m.Members {
		if !member.Runs() {
			continue
		}
		nodes, list = append(nodes, member.Node), append(list, member.Name+"="+member.PeerURL)
		if member.Node == node {
			own = member
		}
	}
	if own.Name == "" {
		return own, "", fmt.Errorf("no member of etcd runs on node %q; the record has members on %s", node, strings.Join(nodes, ", "))
	}
	return own, strings.Join(list, ","), nil
}
