package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdsnapshot"
	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/logging"
)

// snapshotFlags are the flags of the command etcd-snapshots.
type snapshotFlags struct {
	node, endpoint, tls, data, members string
	every                              time.Duration
	keep                               int
}

func etcdSnapshots() *cobra.Command {
	var f snapshotFlags
	cmd := &cobra.Command{
		Use: "etcd-snapshots", Short: "Take snapshots of an etcd on schedule, on a node that runs a member of it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.node, "node", os.Getenv(etcdcluster.EnvNode), "the name of the node")
	flags.StringVar(&f.data, "data", os.Getenv(etcdcluster.EnvData), "the directory that holds the directories of members, and of snapshots")
	flags.StringVar(&f.members, "members", os.Getenv(etcdcluster.EnvMembers), "the file with the record of members")
	cmd.Flags().StringVar(&f.endpoint, "endpoint", os.Getenv(etcdcluster.EnvEndpoint), "the URL of the member on the node")
	cmd.Flags().StringVar(&f.tls, "tls", os.Getenv(etcdcluster.EnvTLS), "the directory with tls.crt, tls.key and ca.crt")
	cmd.Flags().DurationVar(&f.every, "every", etcdcluster.SnapshotPeriod, "the time between two snapshots")
	cmd.Flags().IntVar(&f.keep, "keep", etcdcluster.SnapshotsKept, "how many snapshots there are at most")
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "Print the names of the snapshots on this node, the oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.list(cmd.OutOrStdout()) },
	}, &cobra.Command{
		Use: "print NAME", Short: "Write a snapshot of this node to the standard output", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.print(cmd.OutOrStdout(), args[0]) },
	}, f.restoreCommand())
	return cmd
}

func (f *snapshotFlags) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore", Short: "Make the member on this node from a snapshot that the standard input has", Args: cobra.NoArgs,
		Long: "Make the member on this node from a snapshot that the standard input has. All members must be made from the same snapshot, while none runs; " +
			"the page of the network in docs/providers describes the steps. What the member has on its disk is renamed.",
		RunE: func(cmd *cobra.Command, _ []string) error { return f.restore(cmd.InOrStdin(), cmd.OutOrStdout()) },
	}
}

func (f *snapshotFlags) run(ctx context.Context) error {
	if f.node == "" || f.endpoint == "" || f.tls == "" || f.data == "" || f.members == "" {
		return errors.New("--node, --endpoint, --tls, --data and --members are required")
	}
	if f.every < time.Minute || f.keep < 1 {
		return fmt.Errorf("--every is %s and --keep is %d; they must be at least 1m and 1", f.every, f.keep)
	}
	return etcdsnapshot.Keeper{
		Data: f.data, Node: f.node, Members: f.members, Every: f.every, Keep: f.keep, Connect: f.connect,
		Log: logging.Setup(os.Stderr, new(slog.LevelVar)),
	}.Run(ctx)
}

func (f *snapshotFlags) directory() string { return filepath.Join(f.data, etcdsnapshot.Directory) }

func (f *snapshotFlags) list(out io.Writer) error {
	names, err := etcdsnapshot.List(f.directory())
	for _, name := range names {
		fmt.Fprintln(out, name)
	}
	return err
}

// print writes a snapshot to out, if it is valid.
func (f *snapshotFlags) print(out io.Writer, name string) error {
	path := filepath.Join(f.directory(), filepath.Base(name))
	if err := etcdsnapshot.Verify(path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	defer file.Close()
	if _, err := io.Copy(out, file); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

func (f *snapshotFlags) restore(in io.Reader, out io.Writer) error {
	if f.node == "" || f.data == "" || f.members == "" {
		return errors.New("--node, --data and --members are required")
	}
	text, err := os.ReadFile(f.members)
	if err != nil {
		return fmt.Errorf("read the record of etcd's members: %w", err)
	}
	members, err := etcdcluster.DecodeMembership(string(text))
	if err != nil {
		return err
	}
	snapshot := filepath.Join(f.data, "restore.db")
	defer os.Remove(snapshot)
	if err := durable.Copy(snapshot, in, 0o600); err != nil {
		return fmt.Errorf("copy the standard input: %w", err)
	}
	former, err := etcdsnapshot.Restore(members, f.node, snapshot, f.data, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "restored the member on node %s\n", f.node)
	if former != "" {
		fmt.Fprintf(out, "its former data is in %s for %s\n", former, etcdsnapshot.FormerAge)
	}
	return nil
}

// connect connects to etcd. It reads the certificate each time, because it is renewed while the program runs.
func (f *snapshotFlags) connect() (etcdsnapshot.Source, func(), error) {
	data := map[string][]byte{}
	for _, name := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey, etcdcluster.BundleKey} {
		content, err := os.ReadFile(filepath.Join(f.tls, name))
		if err != nil {
			return nil, nil, fmt.Errorf("read the certificate for etcd: %w", err)
		}
		data[name] = content
	}
	config, err := etcdclient.TLSConfig(data)
	if err != nil {
		return nil, nil, err
	}
	etcd, err := etcdclient.Dial(etcdclient.Target{Endpoints: []string{f.endpoint}, TLS: config})
	if err != nil {
		return nil, nil, err
	}
	return etcd, func() { _ = etcd.Close() }, nil
}
